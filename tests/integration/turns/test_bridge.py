"""The bridge as a process; its program is a shell script and its pane a pipe."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from posthouse.support import files, processes
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.turns import runner
from posthouse.turns.event_stream import follow
from posthouse.turns.folder import Folder, Run
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn
from posthouse.turns.turn_order import Order

RESULT = """echo '{"type":"result","subtype":"success","result":"ok","session_id":"s1"}'"""
Eventually = Callable[[Callable[[], object]], None]
MakeOrder = Callable[..., Order]


@dataclass(frozen=True)
class Bridged:
    """One turn with the bridge that carries it out."""

    turn: Turn
    folder: Folder
    process: subprocess.Popen[bytes]

    def shown(self) -> str:
        """All that the pane got, once the bridge has ended."""
        return self.process.communicate(timeout=LIMIT_SECONDS)[0].decode()

    def run(self) -> Run:
        claim = self.folder.read_claim()
        assert isinstance(claim, Run)
        return claim

    def kill_bridge(self) -> None:
        self.process.kill()
        self.process.wait()


Start = Callable[[Order], Bridged]


@pytest.fixture
def start(turns_root: Path, eventually: Eventually) -> Iterator[Start]:
    """Starts bridges; returns once the program has a pid or the bridge has given up."""
    started: list[Bridged] = []

    def begin(order: Order) -> Bridged:
        folder = Folder(files.private_folder(turns_root / order.turn_id))
        if order.stdin is not None:
            files.write_whole(folder.prompt, order.stdin.encode(), durable=False)
        files.write_json(folder.order, order.to_record(), durable=False)
        bridged = Bridged(Turn(folder.path), folder, carry_out(folder))
        started.append(bridged)
        eventually(lambda: folder.process.exists() or bridged.process.poll() is not None)
        return bridged

    yield begin
    for bridged in started:
        bridged.turn.kill()
        bridged.process.communicate()


def carry_out(folder: Folder) -> subprocess.Popen[bytes]:
    return subprocess.Popen(runner.bridge_argv(folder.path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_a_turn_leaves_the_files_of_the_contract(start: Start, make_order: MakeOrder, tmp_path: Path) -> None:
    """Raw output, canonical events, pids and exit code lie in the folder, for the owner alone."""
    bridged = start(make_order(f"echo '  warming up' ; {RESULT}; echo oops >&2; exit 3"))

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert state == TurnState(
        turn_id=bridged.turn.turn_id,
        turn_index=1,
        status="completed",
        started_at_utc=bridged.folder.launched_at_utc(),
        completed_at_utc=state.completed_at_utc,
        returncode=3,
        completion_source="process_exit",
        session_id="s1",
        answer="ok",
    )
    assert bridged.turn.stdout_path.read_text().startswith("  warming up\n{")
    assert bridged.turn.stderr_path.read_text() == "oops\n"
    assert bridged.turn.exitcode_path.read_text() == "3\n"
    assert [(event.kind, event.provider_event_type) for event in bridged.turn.events()] == [
        ("diagnostic", "raw_text"),
        ("completion", "result"),
        ("diagnostic", "stderr"),
    ]
    run = bridged.run()
    assert json.loads(bridged.folder.process.read_text()) == {
        "runner_pid": bridged.process.pid,
        "child_pid": run.child.pid,
        "launched_at_utc": state.started_at_utc,
    }
    assert {path.stat().st_mode & 0o777 for path in bridged.folder.path.iterdir()} == {0o600}


def test_the_program_gets_prompt_folder_and_environment(
    start: Start, make_order: MakeOrder, tmp_path: Path
) -> None:
    """Its stdin is the prompt and then ends; it leads its own session."""
    script = "cat; pwd; echo $EXTRA; echo $POSTHOUSE_TURN_ID; ps -o sid= -p $$ | tr -d ' '; echo $$"
    order = make_order(script, stdin="two\nlines\n", environment={"EXTRA": "x y"})

    bridged = start(order)
    bridged.turn.wait(LIMIT_SECONDS)

    pid = str(bridged.run().child.pid)
    assert bridged.turn.stdout_path.read_text().splitlines() == [
        "two",
        "lines",
        str(tmp_path),
        "x y",
        order.turn_id,
        pid,
        pid,
    ]


def test_without_a_prompt_stdin_is_empty(start: Start, make_order: MakeOrder) -> None:
    """Some CLIs wait for more input for ever."""
    bridged = start(make_order("cat; echo end"))

    bridged.turn.wait(LIMIT_SECONDS)

    assert bridged.turn.stdout_path.read_text() == "end\n"


def test_the_pane_shows_the_turn_in_its_style(start: Start, make_order: MakeOrder) -> None:
    """What was ordered as plain and concise reads so, live."""
    bridged = start(make_order(f"echo hello; {RESULT}"))

    assert bridged.shown() == "! hello\ndone: success\nturn 1 ended, exit code 0\n"


def test_a_pane_that_nobody_reads_does_not_hold_the_turn(start: Start, make_order: MakeOrder) -> None:
    """A terminal in copy mode, or a hung tmux, loses text on the screen and nothing else."""
    bridged = start(make_order(f"seq -f %0500.0f 1 1000; {RESULT}"))

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, state.returncode) == ("completed", 0)
    assert sum(1 for _ in bridged.turn.events()) == 1001


def test_a_turn_is_carried_out_once(start: Start, make_order: MakeOrder, tmp_path: Path) -> None:
    """A second bridge on the same folder runs nothing, during and after."""
    log = tmp_path / "log"
    bridged = start(make_order(f"echo ran >> {log}; sleep 0.3; {RESULT}"))
    during = carry_out(bridged.folder).communicate()[0]
    bridged.turn.wait(LIMIT_SECONDS)

    after = carry_out(bridged.folder).communicate()[0]

    refusal = f"turn {bridged.turn.turn_id} was taken before; nothing was run\n".encode()
    assert (during, after, log.read_text()) == (refusal, refusal, "ran\n")


def test_a_program_that_cannot_be_started_is_a_failed_turn(start: Start, make_order: MakeOrder) -> None:
    """The error says what was tried and why not."""
    bridged = start(make_order("", argv=("/nowhere/agent", "-p")))

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, state.returncode) == ("failed", 127)
    assert state.error == (
        "crashed: ended without a result (exit code 127)\n"
        "posthouse: cannot start /nowhere/agent: [Errno 2] No such file or directory: '/nowhere/agent'"
    )


def test_a_program_killed_by_a_signal_has_its_negative_number(start: Start, make_order: MakeOrder) -> None:
    """A crash is told as what it was."""
    bridged = start(make_order("kill -SEGV $$"))

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.returncode, state.error) == (
        -11,
        "crashed: ended without a result (killed by SIGSEGV)",
    )


def test_a_killed_bridge_loses_nothing(
    start: Start, make_order: MakeOrder, tmp_path: Path, eventually: Eventually
) -> None:
    """The program finishes its turn, and the turn is judged by what it said."""
    bridged = start(make_order(f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; {RESULT}"))
    eventually(bridged.turn.stdout_path.read_text)
    bridged.kill_bridge()
    during = bridged.turn.state().status
    (tmp_path / "go").touch()

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert during == "active"
    assert (state.status, state.answer, state.returncode, state.completion_source) == (
        "completed",
        "ok",
        None,
        None,
    )
    assert [event.kind for event in bridged.turn.events()] == ["diagnostic", "completion"]


def test_an_interrupt_is_on_disk_before_the_program_hears_of_it(
    start: Start, make_order: MakeOrder, eventually: Eventually
) -> None:
    """Whoever judges later knows that it was asked for."""
    marker = "turns/$POSTHOUSE_TURN_ID/interrupt.json"
    script = f"trap 'cat {marker} >&2; exit 0' INT; echo ready; while :; do sleep 0.02; done"
    bridged = start(make_order(script))
    eventually(bridged.turn.stdout_path.read_text)

    assert bridged.turn.interrupt(reason="enough")
    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, state.returncode) == ("interrupted", 0)
    assert state.error == "stopped on request (enough)"
    assert json.loads(bridged.turn.stderr_path.read_text())["reason"] == "enough"
    assert not bridged.turn.interrupt()


#: Deaf to everything but SIGKILL, with a child of its own that is deaf too.
DEAF = "trap '' INT TERM; (sleep 300 & echo $!; wait) & sleep 300 & echo $!; wait"


@pytest.mark.parametrize("is_bridge_dead", [False, True])
def test_an_interrupt_ends_the_whole_group_however_deaf(
    start: Start, make_order: MakeOrder, eventually: Eventually, is_bridge_dead: bool
) -> None:
    """SIGKILL is the last word, with a living bridge and without one."""
    bridged = start(make_order(DEAF))
    eventually(lambda: len(bridged.turn.stdout_path.read_text().split()) == 2)
    group = processes.group(bridged.run().child.pid)
    if is_bridge_dead:
        bridged.kill_bridge()

    assert bridged.turn.interrupt()
    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, state.returncode) == ("interrupted", None if is_bridge_dead else -9)
    assert len(group) >= 4
    assert processes.wait_gone(group, seconds=LIMIT_SECONDS) == []


@pytest.mark.parametrize("is_bridge_stopped", [False, True])
def test_kill_ends_the_group_at_once_and_the_bridge_with_it(
    start: Start, make_order: MakeOrder, eventually: Eventually, is_bridge_stopped: bool
) -> None:
    """Nothing of the turn runs afterwards, even when its bridge cannot help."""
    bridged = start(make_order(DEAF))
    eventually(lambda: len(bridged.turn.stdout_path.read_text().split()) == 2)
    group = processes.group(bridged.run().child.pid)
    if is_bridge_stopped:
        os.kill(bridged.process.pid, signal.SIGSTOP)

    bridged.turn.kill()

    assert bridged.turn.state().status == "interrupted"
    assert processes.wait_gone([*group, bridged.run().runner], seconds=LIMIT_SECONDS) == []


def test_a_time_limit_ends_the_turn(start: Start, make_order: MakeOrder) -> None:
    """Only where one was asked for, and the state says so."""
    bridged = start(make_order("sleep 300", time_limit_seconds=0.2))

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, state.error) == ("interrupted", "stopped on request (limit)")


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "interrupt"), (signal.SIGHUP, "the pane was closed")],
)
def test_ctrl_c_and_a_closed_pane_end_the_turn(
    start: Start, make_order: MakeOrder, number: signal.Signals, reason: str
) -> None:
    """What a person does to the pane reaches the program, although it lives in another session."""
    bridged = start(make_order("sleep 300"))
    bridged.process.send_signal(number)

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, state.error) == ("interrupted", f"stopped on request ({reason})")


def test_the_program_hears_the_signals_it_expects(start: Start, make_order: MakeOrder) -> None:
    """Nothing is ignored or blocked on its behalf."""
    bridged = start(make_order("grep -E 'Sig(Blk|Ign)' /proc/self/status"))
    bridged.turn.wait(LIMIT_SECONDS)

    masks = {line.split()[1] for line in bridged.turn.stdout_path.read_text().splitlines()}
    assert masks == {"0" * 16}


def test_a_loop_is_told_when_a_turn_ends(
    start: Start, make_order: MakeOrder, tmp_path: Path, eventually: Eventually
) -> None:
    """The loop goes on meanwhile, and a killed bridge is followed to the end of its program."""
    bridged = start(make_order(f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; {RESULT}"))
    # Killed before it lets the program go, it would take the program with it.
    eventually(bridged.turn.stdout_path.read_text)

    async def follow() -> TurnState:
        ended = asyncio.create_task(bridged.turn.ended())
        await asyncio.sleep(0)
        assert not ended.done()
        bridged.kill_bridge()
        (tmp_path / "go").touch()
        return await asyncio.wait_for(ended, 30)

    assert asyncio.run(follow()).status == "completed"


@pytest.mark.parametrize("is_bridge_killed", [False, True])
def test_a_follower_sees_each_event_once(
    start: Start, make_order: MakeOrder, tmp_path: Path, is_bridge_killed: bool
) -> None:
    """As they come; and what was said after the bridge was killed is not lost."""
    script = f"echo one; echo uh >&2; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo two; {RESULT}"
    bridged = start(make_order(script))
    seen = follow(bridged.turn, 30)
    first = {next(seen).message, next(seen).message}
    if is_bridge_killed:
        bridged.kill_bridge()
    (tmp_path / "go").touch()

    assert first == {"one", "uh"}
    assert [event.message for event in seen] == ["two", "ok"]


def test_following_has_its_time(start: Start, make_order: MakeOrder) -> None:
    """A follower of a silent turn is let go."""
    bridged = start(make_order("sleep 300"))

    assert list(follow(bridged.turn, 0.05)) == []


def test_a_big_answer_is_judged_like_a_small_one(start: Start, make_order: MakeOrder) -> None:
    """An event may be longer than the longest line that is read, and a last line needs no newline."""
    result = {"type": "result", "subtype": "success", "result": "é" * 1_500_000}
    bridged = start(make_order("cat", stdin=json.dumps(result, ensure_ascii=False)))

    state = bridged.turn.wait(LIMIT_SECONDS)

    assert (state.status, len(state.answer or "")) == ("completed", 1_500_000)


def test_waiting_has_its_time(start: Start, make_order: MakeOrder) -> None:
    """A caller who waits too short gets the truth: it is still active."""
    bridged = start(make_order("sleep 300"))

    assert bridged.turn.wait(0.05).status == "active"
