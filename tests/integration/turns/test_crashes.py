"""A starter, a bridge or an interrupting caller killed at each of their steps.

Whatever dies: a prompt is carried out at most once, what the turn says about itself agrees with the agent's
own log, and the next turn starts.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from posthouse import tools
from posthouse.contracts import names
from posthouse.errors import Unavailable
from posthouse.support import files
from posthouse.terminal import session
from posthouse.terminal.client import Tmux
from posthouse.terminal.screen import plain
from posthouse.testing.crash.calling import Caller, calling
from posthouse.testing.truth import TruthLog
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.tool import HeadlessTurn, Launch, Setup
from posthouse.turns import runner
from posthouse.turns.runner import TurnActive
from posthouse.turns.turn import Turn
from posthouse.turns.turn_order import Order

Eventually = Callable[[Callable[[], object]], None]

#: More than any of them has.
_MOST_STEPS = 60


class Walk:
    """A session with the scripted agent, and what became of each prompt it was meant to get."""

    def __init__(self, tmux: Tmux, root: Path) -> None:
        self.tmux = tmux
        self.turns_root = root / "turns"
        self._variables_file = root / "variables.json"
        self.truth = TruthLog(root / "home" / "truth.jsonl")
        self._launch = Launch(home=root / "home", working_directory=root, role_name="walker")
        self._tool = tools.load("scripted")
        self._tool.prepare_home(Setup(home=root / "home", working_directory=root, user_home=root))

    def order(self, index: int, prompt: str) -> Order:
        program = self._tool.turn_program(self._launch, HeadlessTurn(prompt=prompt))
        return Order(
            turn_id=f"turn-{index:012x}",
            turn_index=index,
            tool="scripted",
            argv=program.argv,
            environment=program.environment,
            stdin=program.stdin,
            working_directory=str(self._launch.working_directory),
        )

    def start(self, order: Order, **variables: str) -> Turn:
        files.write_json(self._variables_file, variables, durable=False)
        return runner.start(self.tmux, "agent", self.turns_root, order, variables_file=self._variables_file)

    def start_next(self, order: Order) -> Turn:
        """Start *order* as soon as no other turn is active."""
        while True:
            try:
                return self.start(order)
            except TurnActive:
                Turn(self.turns_root / (self.turns_root / ".last").read_text()).wait(LIMIT_SECONDS)

    def status(self, order: Order) -> str | None:
        """What became of *order*; None when nothing was ordered."""
        if not (self.turns_root / order.turn_id).exists():
            return None
        return Turn(self.turns_root / order.turn_id).wait(LIMIT_SECONDS).status

    def has_bridge_finished(self, order: Order) -> bool:
        """Whether the bridge got past its last step: only then does it say so in the pane.

        How tmux says that a program ended is no evidence: it does not always know.
        """
        rows = session.capture(self.tmux, session.agent_pane(self.tmux, "agent").pane_id).rows
        return any(plain(row).startswith(f"turn {order.turn_index} ended") for row in rows)

    def is_true(self, order: Order, status: str | None) -> bool:
        """Whether *status* is what the agent's own log says: carried out once, or not at all."""
        received = self.truth.prompts().count(order.stdin or "")
        return received == (1 if status == "completed" else 0)


@pytest.fixture
def caller() -> Iterator[Caller]:
    with calling() as made:
        yield made


@pytest.fixture
def walk(tmux: Tmux, tmp_path: Path, turns_root: Path) -> Walk:
    return Walk(tmux, tmp_path)


def test_a_starter_killed_anywhere_leaves_the_truth(walk: Walk, caller: Caller) -> None:
    """The turn ran once and says so, or did not and never will; the next one starts."""
    outcomes: list[str | None] = []
    for step in range(1, _MOST_STEPS):
        order = walk.order(2 * step, f"[[say first {step}]]")
        was_killed = caller.dies_at(step, partial(runner.start, walk.tmux, "agent", walk.turns_root, order))
        second = walk.start_next(walk.order(2 * step + 1, f"[[say second {step}]]")).wait(LIMIT_SECONDS)
        outcomes.append(walk.status(order))

        assert walk.is_true(order, outcomes[-1]), (step, outcomes)
        assert (second.status, second.answer) == ("completed", f"second {step}")
        if not was_killed:
            break

    assert outcomes[-1] == "completed"
    # It was killed before the order was there, between order and bridge, and after.
    assert set(outcomes) == {None, "failed", "completed"}


def test_a_bridge_killed_anywhere_leaves_the_truth(walk: Walk) -> None:
    """What the program did counts; before its pid is on disk it does nothing."""
    statuses: list[str | None] = []
    for step in range(1, _MOST_STEPS):
        order = walk.order(step, f"[[say step {step}]]")
        with suppress(Unavailable):
            walk.start(order, **{names.CRASH_AT: str(step)})
        statuses.append(walk.status(order))

        assert walk.is_true(order, statuses[-1]), (step, statuses)
        if walk.has_bridge_finished(order):
            break

    assert walk.has_bridge_finished(order)
    assert set(statuses) == {"failed", "completed"}


def test_an_interrupt_cut_off_anywhere_is_finished_or_never_was(
    walk: Walk, caller: Caller, eventually: Eventually
) -> None:
    """Once it is on disk that the turn should end, it ends, whoever asked."""
    statuses: list[str] = []
    for step in range(1, _MOST_STEPS):
        turn = walk.start(walk.order(step, f"[[say {step}]] [[wait 300]]"))
        eventually(turn.stdout_path.read_text)
        was_killed = caller.dies_at(step, turn.interrupt)
        was_asked = (walk.turns_root / turn.turn_id / "interrupt.json").exists()
        statuses.append(turn.wait(LIMIT_SECONDS if was_asked else 0).status)
        turn.kill()

        assert statuses[-1] == ("interrupted" if was_asked else "active")
        if not was_killed:
            break

    assert set(statuses) == {"active", "interrupted"}
