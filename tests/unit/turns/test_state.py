"""What the files of a turn say."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from posthouse.support import files, processes
from posthouse.support.processes import Process
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.turns.folder import Folder, Run
from posthouse.turns.state import LOCK, derive, events_of
from posthouse.turns.turn import Turn, TurnNotFound
from posthouse.turns.turn_order import Order

RESULT = {"type": "result", "subtype": "success", "result": "42", "session_id": "s1"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A turn that was ordered, and nothing else."""
    path = files.private_folder(tmp_path / "turns" / "turn-1")
    order = Order(turn_id="turn-1", turn_index=1, tool="scripted", argv=("x",), working_directory="/")
    files.write_json(path / "order.json", order.to_record(), durable=False)
    return Folder(path)


def myself() -> Process:
    process = processes.identify(os.getpid())
    assert process is not None
    return process


def run_of(process: Process, *, boot_id: str | None = None) -> Run:
    return Run(boot_id=boot_id or processes.boot_id(), runner=process, child=process)


GONE = Process(os.getpid(), 1)


def test_an_order_nobody_starts_is_unknown_and_decided_when_called_off(folder: Folder) -> None:
    """Without a starter it may or may not start; calling it off settles that."""
    turn = Turn(folder.path)
    before = turn.state()

    assert turn.cancel_unstarted("its starter died")
    after = turn.state()

    assert before.status == "unknown"
    assert (after.status, after.error) == ("failed", "never started: its starter died")


def test_an_order_whose_starter_is_at_work_is_active(folder: Folder) -> None:
    """The starter holds the lock until the program has a pid."""
    with open(folder.path.parent / LOCK, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        during = derive(folder).status

    assert (during, derive(folder).status) == ("active", "unknown")


def test_a_living_bridge_means_active(folder: Folder) -> None:
    """While bridge or program live, nothing is judged."""
    folder.claim(run_of(myself()))
    folder.write_process(run_of(myself()))

    state = derive(folder)

    assert (state.status, state.started_at_utc) == ("active", folder.launched_at_utc())


@pytest.mark.parametrize("is_other_boot", [False, True])
def test_a_finished_program_whose_bridge_was_killed_is_judged_by_its_words(
    folder: Folder, is_other_boot: bool
) -> None:
    """The answer counts; the exit code and the source of the completion are not known."""
    run = run_of(myself(), boot_id="earlier") if is_other_boot else run_of(GONE)
    folder.claim(run)
    folder.write_process(run)
    folder.stdout.write_text(json.dumps(RESULT) + "\n")
    folder.canonical.write_text('{"torn')

    state = derive(folder)

    assert (state.status, state.answer, state.session_id) == ("completed", "42", "s1")
    assert (state.returncode, state.completion_source) == (None, None)
    assert [event.kind for event in Turn(folder.path).events()] == ["completion"]


def test_a_bridge_that_died_before_the_pid_was_on_disk_ran_nothing(folder: Folder) -> None:
    """The claim alone lets nothing run."""
    folder.claim(run_of(GONE))

    state = derive(folder)

    assert (state.status, state.started_at_utc) == ("failed", None)
    assert state.error == "never started: the bridge was killed before it let the program go"


def test_an_exit_code_ends_the_turn_whoever_lives(folder: Folder) -> None:
    """`exitcode` is the completion marker."""
    folder.claim(run_of(myself()))
    folder.write_process(run_of(myself()))
    folder.write_exitcode(7)

    state = derive(folder)

    assert (state.status, state.returncode, state.completion_source) == ("failed", 7, "process_exit")
    assert state.error == "crashed: ended without a result (exit code 7)"


def test_interrupting_what_has_not_begun_calls_it_off(folder: Folder) -> None:
    """It never runs, and was stopped rather than failed. A second time there is nothing to stop."""
    turn = Turn(folder.path)

    assert (turn.interrupt(), turn.state().status, turn.interrupt()) == (True, "interrupted", False)
    assert not folder.claim(run_of(myself()))


def test_a_turn_that_was_never_ordered_is_not_found(tmp_path: Path) -> None:
    """An empty place has no state."""
    with pytest.raises(TurnNotFound, match="there is no turn 'turn-x'"):
        Turn(tmp_path / "turn-x").state()


def test_a_named_pipe_as_output_is_told_and_not_waited_for(folder: Folder) -> None:
    """The agent's program can replace its own output file."""
    os.mkfifo(folder.stdout)
    folder.claim(run_of(GONE))
    folder.write_process(run_of(GONE))

    assert derive(folder).status == "failed"
    assert any("named pipe" in event.message for event in events_of(folder))


def test_a_torn_or_deep_line_of_events_costs_that_line_only(folder: Folder) -> None:
    """The events around it are told."""
    event = {
        "kind": "assistant",
        "message": "hello",
        "turn_index": 1,
        "provider": "scripted",
        "provider_event_type": "x",
        "timestamp_utc": "2026-06-05T00:00:00.000001+00:00",
        "session_id": None,
        "data": {},
        "raw_payload": None,
    }
    whole = json.dumps(event)
    # Can be read, and is too deep to be encoded for a route.
    deep = whole.replace('"data": {}', '"data": {"x": ' + "[" * 500 + "]" * 500 + "}")
    folder.canonical.write_text(f'{whole}\n{{"kind": "ass\n{"[" * 100_000}\n{{}}\n{deep}\n{whole}\n')
    folder.write_exitcode(0)

    assert [event.message for event in events_of(folder)] == ["hello", "hello"]


@pytest.mark.parametrize("name", ["order.json", "run.json", "process.json", "exitcode", "interrupt.json"])
def test_a_named_pipe_among_the_files_of_a_turn_is_refused(folder: Folder, name: str) -> None:
    """The message names the file; nothing waits for a writer."""
    folder.claim(run_of(GONE))
    folder.write_process(run_of(GONE))
    (folder.path / name).unlink(missing_ok=True)
    os.mkfifo(folder.path / name)

    with pytest.raises(UnsafeFile, match=f"{name} is a named pipe"):
        derive(folder)
