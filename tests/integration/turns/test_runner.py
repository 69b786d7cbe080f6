"""Turns in a real tmux session."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.errors import Conflict, Unavailable
from posthouse.support import files, processes
from posthouse.terminal import session
from posthouse.terminal.client import NoServer, Tmux
from posthouse.terminal.screen import plain
from posthouse.testing.searching import files_with
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.turns import runner
from posthouse.turns.runner import TurnActive
from posthouse.turns.turn import Turn
from posthouse.turns.turn_order import Order

RESULT = """echo '{"type":"result","subtype":"success","result":"ok","session_id":"s1"}'"""
Eventually = Callable[[Callable[[], object]], None]
MakeOrder = Callable[..., Order]
StartTurn = Callable[[Order], Turn]


@pytest.fixture
def variables_file(tmp_path: Path) -> Path:
    """Has the variables of the turns' programs."""
    path = tmp_path / "variables.json"
    files.write_json(path, {"API_KEY": "s3cret"}, durable=False)
    return path


@pytest.fixture
def start(tmux: Tmux, turns_root: Path, variables_file: Path) -> StartTurn:
    """Starts turns in the session."""
    return lambda order: runner.start(tmux, "agent", turns_root, order, variables_file=variables_file)


def screen(tmux: Tmux) -> list[str]:
    rows = session.capture(tmux, session.agent_pane(tmux, "agent").pane_id).rows
    return [text for row in rows if (text := plain(row).rstrip())]


def test_turns_run_one_after_the_other_in_the_same_pane(
    tmux: Tmux, turns_root: Path, start: StartTurn, make_order: MakeOrder, eventually: Eventually
) -> None:
    """Each is kept, and the pane shows the newest."""
    pane = session.agent_pane(tmux, "agent").pane_id
    first = start(make_order(f"echo one; {RESULT}"))
    first.wait(LIMIT_SECONDS)
    second = start(make_order(f"echo two; {RESULT}"))
    second.wait(LIMIT_SECONDS)

    assert [(turn.turn_id, turn.state().status) for turn in runner.turns_of(turns_root)] == [
        (first.turn_id, "completed"),
        (second.turn_id, "completed"),
    ]
    eventually(lambda: screen(tmux)[:3] == ["! two", "done: success", "turn 2 ended, exit code 0"])
    assert session.agent_pane(tmux, "agent").pane_id == pane


def test_while_a_turn_is_active_no_other_starts(
    turns_root: Path, start: StartTurn, make_order: MakeOrder
) -> None:
    """The refusal names the turn; nothing of the second one is left."""
    first = start(make_order("sleep 300"))
    active = runner.active(turns_root)

    with pytest.raises(TurnActive, match=f"turn {first.turn_id} is in progress"):
        start(make_order(RESULT))

    assert active is not None
    assert active.turn_id == first.turn_id
    assert [turn.turn_id for turn in runner.turns_of(turns_root)] == [first.turn_id]
    first.kill()
    assert runner.active(turns_root) is None


def test_the_next_turn_starts_when_the_old_group_is_gone(start: StartTurn, make_order: MakeOrder) -> None:
    """What an ended turn left running is ended first, its own leader being long dead."""
    first = start(make_order(f"trap '' TERM; sleep 300 & echo $!; {RESULT}"))
    first.wait(LIMIT_SECONDS)
    left = processes.identify(int(first.stdout_path.read_text().split()[0]))
    assert left is not None
    assert left.is_alive()

    second = start(make_order("sleep 300"))

    assert not left.is_alive()
    assert second.state().status == "active"


def test_an_id_is_used_once(start: StartTurn, make_order: MakeOrder) -> None:
    """A caller that asks again after a crash does not get a second run."""
    order = make_order(RESULT)
    first = start(order)
    before = first.wait(LIMIT_SECONDS)

    with pytest.raises(Conflict, match="use another id"):
        start(order)

    assert Turn(first.stdout_path.parent).state() == before


def test_secrets_reach_the_program_and_no_file_or_command_line(
    tmux: Tmux, turns_root: Path, start: StartTurn, make_order: MakeOrder, eventually: Eventually
) -> None:
    """They are in the program's environment and nowhere else."""
    turn = start(make_order("echo ${#API_KEY}; sleep 300"))
    eventually(turn.stdout_path.read_text)

    assert turn.stdout_path.read_text() == "6\n"
    assert files_with(turns_root, b"s3cret") == []
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"s3cret" in content(path)]
    assert "s3cret" not in tmux.run("show-environment", "-g") + str(session.environment(tmux, "agent"))


def content(path: Path) -> bytes:
    """What *path* holds; nothing when its process has ended meanwhile."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_without_a_good_file_of_variables_the_turn_does_not_run(
    turns_root: Path, start: StartTurn, make_order: MakeOrder, variables_file: Path
) -> None:
    """The error has the reason; the next turn runs when the file is good again."""
    variables_file.chmod(0o644)

    with pytest.raises(Unavailable, check=lambda error: error.code == "bridge_died") as refused:
        start(make_order("echo never"))

    # The pane breaks its lines, at a blank or not.
    shown = "".join(str(refused.value).split())
    assert f"cannotruntheturn:{variables_file}isopentootherusers" in shown
    assert runner.turns_of(turns_root)[0].state().status == "failed"
    variables_file.chmod(0o600)
    assert start(make_order(RESULT)).wait(LIMIT_SECONDS).status == "completed"


def test_without_a_session_nothing_is_ordered(
    tmux: Tmux, turns_root: Path, start: StartTurn, make_order: MakeOrder
) -> None:
    """The error is tmux's, and no turn is left behind."""
    session.kill(tmux, "agent")

    with pytest.raises(NoServer):
        start(make_order(RESULT))

    assert runner.turns_of(turns_root) == []


def test_a_bridge_that_dies_early_is_a_clear_error(
    turns_root: Path,
    start: StartTurn,
    make_order: MakeOrder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message shows what the pane said; the turn never runs, and the next one does."""
    broken = (sys.executable, "-c", "raise SystemExit('no such thing')")
    with monkeypatch.context() as patch:
        # Python itself failing to start cannot be had otherwise.
        patch.setattr(runner, "bridge_argv", lambda *_: broken)
        with pytest.raises(Unavailable, match="did not start; its pane shows:\nno such thing"):
            start(make_order("echo never"))

    state = runner.turns_of(turns_root)[0].state()
    assert (state.status, state.error) == ("failed", "never started: its bridge ended too early")
    assert start(make_order(RESULT)).wait(LIMIT_SECONDS).status == "completed"


def test_closing_the_session_ends_the_turn(tmux: Tmux, start: StartTurn, make_order: MakeOrder) -> None:
    """An agent whose terminal is gone does not go on in the dark."""
    turn = start(make_order("sleep 300"))

    session.kill(tmux, "agent")
    state = turn.wait(LIMIT_SECONDS)

    assert (state.status, state.error) == ("interrupted", "stopped on request (the pane was closed)")


def test_what_a_killed_starter_left_half_made_goes(
    turns_root: Path, start: StartTurn, make_order: MakeOrder
) -> None:
    """A folder without its order is no turn, and does not stay."""
    (turns_root / ".turn-0123456789ab.new").mkdir(parents=True)

    turn = start(make_order(RESULT))

    assert sorted(os.listdir(turns_root)) == [".last", ".lock", turn.turn_id]  # noqa: PTH208 - hidden names count


def test_a_turn_that_was_forbidden_is_never_started(
    tmux: Tmux, turns_root: Path, make_order: MakeOrder
) -> None:
    """Its id is taken for good; one that was ordered before can't be forbidden."""
    forbidden, taken = make_order("true"), make_order("true")
    runner.start(tmux, "agent", turns_root, taken).wait(LIMIT_SECONDS)

    assert runner.forbid(turns_root, forbidden.turn_id)
    assert runner.forbid(turns_root, forbidden.turn_id)
    assert not runner.forbid(turns_root, taken.turn_id)
    with pytest.raises(Conflict, match="use another id"):
        runner.start(tmux, "agent", turns_root, forbidden)
    assert [turn.turn_id for turn in runner.turns_of(turns_root)] == [taken.turn_id]


def test_what_a_killed_starter_left_is_settled_and_what_runs_goes_on(
    tmux: Tmux, turns_root: Path, make_order: MakeOrder
) -> None:
    """An order that no bridge took never begins; a turn that runs is left alone."""
    running = runner.start(tmux, "agent", turns_root, make_order("sleep 600"))
    runner.cancel_abandoned(turns_root)
    assert running.state().status == "active"
    running.kill()

    left = make_order("true")
    (turns_root / left.turn_id).mkdir()
    files.write_json(turns_root / left.turn_id / "order.json", left.to_record(), durable=False)
    (turns_root / ".last").write_text(left.turn_id)
    turn = Turn(turns_root / left.turn_id)
    assert turn.state().status == "unknown"
    runner.cancel_abandoned(turns_root)
    assert turn.state().status == "failed"
