"""The scripted agent on a terminal: one loop over keys, signals, the running turn and the clock."""

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

from posthouse.tools.scripted import view
from posthouse.tools.scripted.agent import AgentRun, NoConversation
from posthouse.tools.scripted.conversation import Conversation
from posthouse.tools.scripted.interactive import Interactive
from posthouse.tools.scripted.keys import KeyReader, Pressed
from posthouse.tools.scripted.page import Page
from posthouse.tools.scripted.painter import Painter

_READ_BYTES = 65536
#: An escape sequence is complete within this time.
_ESCAPE_SECONDS = 0.05
_SPINNER_SECONDS = 0.5
_HOOK_SECONDS = 0.1


def run(agent: AgentRun) -> int:
    """Run the TUI until it ends; returns the exit code."""
    descriptor, output = sys.stdin.fileno(), sys.stdout.fileno()
    if not os.isatty(descriptor) or not os.isatty(output):
        sys.stderr.write("error: the TUI needs a terminal; use -p for a headless turn\n")
        return 1
    timers = _Timers()
    try:
        conversation = Conversation(agent, agent.conversation(), timers.schedule)
    except NoConversation as error:
        sys.stderr.write(f"{error}\n")
        return 1
    painter = Painter(output, alternate_screen=agent.persona.alternate_screen)
    with _raw(descriptor):
        painter.open()
        try:
            code = _Loop(agent, descriptor, painter, timers, conversation).run()
        finally:
            painter.close()
    print(f"Resume this conversation with --resume {conversation.session_id}")
    agent.truth.write("exit", code=code, session_id=conversation.session_id)
    return code


class _Timers:
    """Scheduled callbacks, in due order."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, Callable[[], None]]] = []

    def schedule(self, seconds: float, action: Callable[[], None]) -> None:
        """Run *action* after *seconds*; immediately if that is 0."""
        if seconds <= 0:
            action()
        else:
            self._waiting.append((time.monotonic() + seconds, action))

    def next_due(self) -> float:
        return min((due for due, _ in self._waiting), default=inf)

    def run(self, now: float) -> None:
        due = [action for when, action in self._waiting if when <= now]
        self._waiting = [entry for entry in self._waiting if entry[0] > now]
        for action in due:
            action()


class _Loop:
    """The event loop: waits for the next event, handles it, repaints."""

    def __init__(
        self, agent: AgentRun, descriptor: int, painter: Painter, timers: _Timers, conversation: Conversation
    ) -> None:
        self._agent = agent
        self._descriptor = descriptor
        self._painter = painter
        self._timers = timers
        self._keys = KeyReader()
        self._read_at = -inf
        banner = f"scripted agent · {agent.persona.name}\n{agent.working_directory}\n"
        page = Page(painter, agent.persona.appearance, banner=banner)
        self._interactive = Interactive(agent, conversation, page, now=time.monotonic())

    def run(self) -> int:
        if self._agent.arguments.prompt:
            self._interactive.start(self._agent.arguments.prompt, time.monotonic())
        while self._interactive.exit_code is None:
            self._paint()
            self._wait()
            now = time.monotonic()
            self._interactive.tick(now)
            self._timers.run(now)
            self._agent.hooks.reap()
        self._paint()
        return self._interactive.exit_code

    def _wait(self) -> None:
        timeout = self._next_due() - time.monotonic()
        sources = [self._descriptor, self._agent.signals.fileno()]
        ready, _, _ = select.select(sources, [], [], None if timeout == inf else max(0.0, timeout))
        self._handle_signals()
        if self._descriptor in ready:
            self._read()
        elif self._keys.is_waiting and time.monotonic() >= self._read_at + _ESCAPE_SECONDS:
            for item in self._keys.flush():
                self._interactive.handle(item, time.monotonic())

    def _next_due(self) -> float:
        now = time.monotonic()
        return min(
            self._interactive.next_due(),
            self._timers.next_due(),
            self._read_at + _ESCAPE_SECONDS if self._keys.is_waiting else inf,
            now + _SPINNER_SECONDS if self._interactive.is_active else inf,
            now + _HOOK_SECONDS if self._agent.hooks.is_running else inf,
        )

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self._interactive.stop(128 + signal.SIGHUP)
            return
        self._read_at = time.monotonic()
        for item in self._keys.feed(data):
            if self._interactive.exit_code is None:
                self._interactive.handle(item, self._read_at)

    def _handle_signals(self) -> None:
        for number in self._agent.signals.drain():
            if number == signal.SIGWINCH:
                self._painter.resize()
            elif number == signal.SIGINT:
                self._interactive.handle(Pressed("Ctrl-C"), time.monotonic())
            else:
                self._interactive.stop(128 + number)

    def _paint(self) -> None:
        shown = self._interactive.view(time.monotonic())
        self._painter.paint(view.frame(shown), view.title(shown))


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """The terminal without line editing, echo or keys that send signals."""
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
