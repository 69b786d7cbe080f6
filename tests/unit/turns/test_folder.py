"""The files of a turn."""

from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.support.processes import Process
from posthouse.turns.folder import BadTurnRecord, Cancellation, Folder, InterruptRecord, Run

RUN = Run(boot_id="boot", runner=Process(10, 100), child=Process(11, 101))


def test_a_turn_is_taken_once(tmp_path: Path) -> None:
    """The second bridge gets nothing, and the first one's claim stands."""
    folder = Folder(tmp_path)

    assert folder.claim(RUN)
    assert not folder.claim(Run(boot_id="later", runner=Process(1, 1), child=Process(2, 2)))
    assert not folder.cancel_unstarted("too late")
    assert folder.read_claim() == RUN


def test_a_turn_that_was_called_off_is_never_taken(tmp_path: Path) -> None:
    """Calling off and taking exclude each other."""
    folder = Folder(tmp_path)

    assert folder.cancel_unstarted("its starter died")
    assert not folder.claim(RUN)
    assert folder.read_claim() == Cancellation(reason="its starter died")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_the_first_reason_for_an_interrupt_stays(tmp_path: Path) -> None:
    """A second request does not rewrite why the turn was stopped."""
    folder = Folder(tmp_path)
    assert folder.mark_interrupt("limit")
    first = folder.read_interrupt()

    assert not folder.mark_interrupt("interrupt")
    assert first is not None
    assert folder.read_interrupt() == InterruptRecord(requested_at_utc=first.requested_at_utc, reason="limit")


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


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("order.json", Folder.read_order),
        ("run.json", Folder.read_claim),
        ("process.json", Folder.launched_at_utc),
        ("interrupt.json", Folder.read_interrupt),
        ("exitcode", Folder.read_exitcode),
    ],
)
@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        "abc",
        "9" * 5000,
        "[" * 100_000,
        '{"argv": 1, "boot_id": 1, "launched_at_utc": 1, "requested_at_utc": 1, "reason": 1}',
        '{"boot_id": "b", "runner_pid": -1, "runner_start_ticks": 1, "child_pid": 0, "child_start_ticks": 1}',
        '{"boot_id": "b", "runner_pid": "1", "runner_start_ticks": 1, "child_pid": 1}',
    ],
)
def test_a_record_that_its_writer_did_not_make_is_one_refusal(
    tmp_path: Path, name: str, read: Callable[[Folder], object], content: str
) -> None:
    """It names the file; the agent's programs can write there too."""
    (tmp_path / name).write_text(content)

    with pytest.raises(BadTurnRecord, match=f"{name} "):
        read(Folder(tmp_path))
