"""A real CLI's TUI in a real tmux, typed into by the product."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from posthouse.terminal import keys, session, variable_files
from posthouse.terminal.client import Tmux
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import Delivery, PaneWriter
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Surface
from posthouse.testing.cli_rig import SESSION, CliAgent, Place, Subject
from posthouse.testing.waiting import LIMIT_SECONDS, limited
from posthouse.tools.tool import Chat, Permissions

_NEW = Chat()
_POLL_SECONDS = 0.02
#: Refusals that only mean: not yet.
_BUSY = ("active", "queued", "starting", "unknown")
#: After this long, a key that was pressed has not been taken.
_LOST_SECONDS = 1.0

Result = TypeVar("Result")


class TuiAgent(CliAgent):
    """A TUI in a session of its own."""

    def __init__(self, place: Place, subject: Subject) -> None:
        super().__init__(place, subject)
        self._tmux = Tmux(place.server)
        self._pane: Pane | None = None
        #: The prompt that was delivered last, as the agent gets it.
        self._last = ""

    def start(
        self,
        chat: Chat = _NEW,
        *,
        permissions: Permissions | None = None,
        role: str = "",
        level: int | None = None,
        columns: int = 120,
        rows: int = 40,
    ) -> Pane:
        """Start the program, in the same pane as before, and wait until it is ready."""
        allowed = permissions or self.subject.launch.permissions
        self.prepare_home(allowed, is_headless=False)
        launch = replace(self.subject.launch, permissions=allowed, role_text=role, reasoning_level=level)
        program = self.tool.tui_program(launch, chat)
        empty = self._pane or session.create(
            self._tmux, SESSION, working_directory=self.where, environment={}, columns=columns, rows=rows
        )
        self._pane = session.start_program(
            self._tmux,
            empty,
            variable_files.launch_command(self.variables_file(), program.argv),
            environment=self.environment(program),
            working_directory=self.where,
        )
        assert self.use(lambda writer: writer.wait_ready(LIMIT_SECONDS)).state == "ready"
        return self._pane

    @asynccontextmanager
    async def pane_writer(self) -> AsyncIterator[PaneWriter]:
        """A writer of the pane."""
        assert self._pane is not None
        client = await ControlClient.attach(self.place.server, SESSION, output=True)
        try:
            lock = self.place.folder / "pane.lock"
            yield PaneWriter(client, self._pane.pane_id, self.tool, lock_path=lock)
        finally:
            await client.close()

    def use(self, work: Callable[[PaneWriter], Awaitable[Result]]) -> Result:
        """Do *work* with a writer of the pane."""

        async def run() -> Result:
            async with self.pane_writer() as writer:
                return await work(writer)

        return asyncio.run(run())

    def deliver(self, prompt: str) -> Delivery:
        """Type *prompt*; the transcript and the hook acknowledge it."""
        wanted, told = self.tool.escape_prompt(prompt).strip(), self._submitted()

        def acknowledged() -> bool:
            return self._submitted() > told and [each.prompt.strip() for each in self.exchanges()[-1:]] == [
                wanted
            ]

        delivery = self.use(
            lambda writer: submitted(writer, lambda: writer.submit(prompt, acknowledged=acknowledged))
        )
        if delivery.outcome != "refused":
            self._last = wanted
        return delivery

    def command(self, words: str) -> None:
        """Type a command of the CLI's own, of which neither transcript nor hook tells."""
        delivery = self.use(lambda writer: writer.submit(words, acknowledged=lambda: True))
        assert delivery.outcome == "submitted", delivery

    def answered(self) -> None:
        """Wait until the last prompt has its outcome and the agent is ready for another.

        A screen may tell of an answer before the transcript does.
        """
        self.wait(self._is_answered)
        self.until("ready")

    def _is_answered(self) -> bool:
        told = [(each.prompt.strip(), each.outcome is None) for each in self.exchanges()[-1:]]
        return told == [(self._last, False)]

    def _submitted(self) -> int:
        return self.meanings().count("submitted")

    def accept(self, dialog: str) -> None:
        """Take what *dialog* offers first."""
        self.use(lambda writer: _enter_while(writer, lambda surface: surface.dialog == dialog))

    def leave(self, command: str) -> None:
        """End the program as a person does, by a command; return when it has ended."""

        async def act(writer: PaneWriter) -> None:
            await writer.press(keys.parse(command, literal=True))
            await until(writer, lambda surface: surface.composer == command)
            await _enter_while(writer, lambda surface: surface.composer == command)
            await until(writer, lambda surface: surface.state == "exited")

        self.use(act)

    def until(self, *states: str) -> Surface:
        """Wait for one of *states*."""
        return self.use(lambda writer: until(writer, lambda surface: surface.state in states))

    def until_asked(self, dialog: str) -> Surface:
        """Wait for *dialog*; the title may tell of it before it is painted."""
        return self.use(lambda writer: until(writer, lambda surface: surface.dialog == dialog))

    def interrupt(self) -> bool:
        return self.use(lambda writer: writer.interrupt())

    def press(self, sequence: str) -> None:
        self.use(lambda writer: writer.press(keys.parse(sequence)))

    def stop(self) -> None:
        """End the session; whether that ends all that ran in it, tests tell."""
        session.kill(self._tmux, SESSION)


async def until(writer: PaneWriter, condition: Callable[[Surface], bool]) -> Surface:
    """Wait for a surface that meets *condition*."""
    async with limited():
        while not condition(surface := await writer.surface()):
            await asyncio.sleep(_POLL_SECONDS)
    return surface


async def submitted(writer: PaneWriter, submit: Callable[[], Awaitable[Delivery]]) -> Delivery:
    """What became of *submit*, again while the agent is busy: a CLI looks ready for a moment before it is."""
    async with limited():
        while (delivery := await submit()).outcome == "refused" and delivery.reason in _BUSY:
            await writer.wait_ready(LIMIT_SECONDS)
    return delivery


async def _enter_while(writer: PaneWriter, holds: Callable[[Surface], bool]) -> None:
    """Press Enter until *holds* no longer does: a CLI may lose one that comes right after it painted."""
    loop = asyncio.get_running_loop()
    pressed_at = loop.time() - _LOST_SECONDS

    async with limited():
        while holds(await writer.surface()):
            if loop.time() - pressed_at >= _LOST_SECONDS:
                await writer.press(keys.parse("<[Enter]>"))
                pressed_at = loop.time()
            await asyncio.sleep(_POLL_SECONDS)
