"""A real CLI's headless turns, one after the other in a real tmux, by the product's own layers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypedDict, Unpack

from posthouse.support import processes
from posthouse.terminal import session
from posthouse.terminal.client import Tmux
from posthouse.testing.cli_rig import SESSION, CliAgent, Place, Subject
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.tools.tool import Chat, HeadlessTurn, Permissions
from posthouse.turns import runner
from posthouse.turns.folder import Run
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn
from posthouse.turns.turn_order import Order

_NEW = Chat()


class Wishes(TypedDict, total=False):
    """What one turn may have otherwise than its agent."""

    model: str | None
    level: int | None
    permissions: Permissions
    role: str


class HeadlessAgent(CliAgent):
    """One headless agent: its home, its pane and its turns."""

    def __init__(self, place: Place, subject: Subject) -> None:
        super().__init__(place, subject)
        self._turns = place.folder / "turns"
        self._tmux = Tmux(place.server)
        session.create(self._tmux, SESSION, working_directory=self.where, environment={})
        self.prepare_home(subject.launch.permissions, is_headless=True)

    def start(self, prompt: str, chat: Chat = _NEW, **wishes: Unpack[Wishes]) -> Turn:
        """Begin a turn."""
        launch = replace(
            self.subject.launch,
            role_text=wishes.get("role", ""),
            permissions=wishes.get("permissions", self.subject.launch.permissions),
        )
        turn = HeadlessTurn(
            prompt=prompt,
            chat=chat,
            model=wishes.get("model", self.subject.turn_model),
            reasoning_level=wishes.get("level"),
        )
        program = self.tool.turn_program(launch, turn)
        order = Order(
            turn_id=runner.new_turn_id(),
            turn_index=len(runner.turns_of(self._turns)) + 1,
            tool=self.tool.name,
            argv=program.argv,
            environment=self.environment(program),
            stdin=program.stdin,
            working_directory=str(self.where),
        )
        return runner.start(self._tmux, SESSION, self._turns, order, variables_file=self.variables_file())

    def run(self, prompt: str, chat: Chat = _NEW, **wishes: Unpack[Wishes]) -> TurnState:
        """One turn to its end."""
        return self.start(prompt, chat, **wishes).wait(LIMIT_SECONDS)

    def at_work(self, prompt: str = "mock:hold", chat: Chat = _NEW) -> Turn:
        """A turn whose answer has begun and does not end by itself."""
        asked = len(self.api.main_records())
        turn = self.start(prompt, chat)
        self.api.wait(lambda _: len(self.api.main_records()) > asked)
        return turn

    def end(self) -> None:
        """End every turn, with all that it started."""
        for turn in runner.turns_of(self._turns):
            turn.kill()
            turn.end_leftovers()


@contextmanager
def running(place: Place, subject: Subject) -> Iterator[HeadlessAgent]:
    """A headless agent of *subject* in *place*, ended with the block."""
    made = HeadlessAgent(place, subject)
    try:
        yield made
    finally:
        made.end()


def programs_of(turn: Turn) -> list[processes.Process]:
    """The turn's program, and what it has started."""
    claim = turn.folder.read_claim()
    assert isinstance(claim, Run)
    return processes.tree(claim.child.pid)
