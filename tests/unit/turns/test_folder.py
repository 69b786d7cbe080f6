"""The files of a turn."""

from pathlib import Path

from posthouse.support.processes import Process
from posthouse.turns.folder import CalledOff, Folder, Interrupt, Run

RUN = Run(boot_id="boot", runner=Process(10, 100), child=Process(11, 101))


def test_a_turn_is_taken_once(tmp_path: Path) -> None:
    """The second bridge gets nothing, and the first one's claim stands."""
    folder = Folder(tmp_path)

    assert folder.claim(RUN)
    assert not folder.claim(Run(boot_id="later", runner=Process(1, 1), child=Process(2, 2)))
    assert not folder.call_off("too late")
    assert folder.read_claim() == RUN


def test_a_turn_that_was_called_off_is_never_taken(tmp_path: Path) -> None:
    """Calling off and taking exclude each other."""
    folder = Folder(tmp_path)

    assert folder.call_off("its starter died")
    assert not folder.claim(RUN)
    assert folder.read_claim() == CalledOff(reason="its starter died")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_the_first_reason_for_an_interrupt_stays(tmp_path: Path) -> None:
    """A second request does not rewrite why the turn was stopped."""
    folder = Folder(tmp_path)
    assert folder.mark_interrupt("limit")
    first = folder.read_interrupt()

    assert not folder.mark_interrupt("interrupt")
    assert first is not None
    assert folder.read_interrupt() == Interrupt(requested_at_utc=first.requested_at_utc, reason="limit")


def test_process_and_exit_code_are_written_as_the_contract_says(tmp_path: Path) -> None:
    """`process.json` has exactly three fields; `exitcode` is an integer and a newline."""
    folder = Folder(tmp_path)
    folder.write_process(RUN)
    folder.write_exitcode(-9)

    launched = folder.launched_at_utc()
    assert folder.process.read_text() == (
        f'{{\n  "child_pid": 11,\n  "launched_at_utc": "{launched}",\n  "runner_pid": 10\n}}\n'
    )
    assert folder.exitcode.read_text() == "-9\n"
    assert folder.read_exitcode() == -9


def test_an_empty_folder_knows_nothing(tmp_path: Path) -> None:
    """What is not there is None, not an error."""
    folder = Folder(tmp_path)

    known = (folder.read_claim(), folder.read_interrupt(), folder.read_exitcode(), folder.launched_at_utc())

    assert known == (None, None, None, None)
