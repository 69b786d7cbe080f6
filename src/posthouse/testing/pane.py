"""One program in a pane of a tmux server of its own, driven by plain tmux commands.

Deliberately not built on `posthouse.terminal`: what tests that package needs other hands.
"""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from posthouse.terminal.screen import Screen
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

_TARGET = "agent:0.0"


class Pane:
    """A running program and its screen."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._pastes = 0

    def tmux(self, *command: str, text: str | None = None) -> str:
        """One tmux command; *text* is its stdin."""
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self._socket), "-f", "/dev/null", *command],
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"tmux {command[0]} failed: {done.stderr}"
        return done.stdout

    def screen(self) -> Screen:
        shown = self.tmux("capture-pane", "-p", "-e", "-t", _TARGET)
        facts = "#{cursor_x} #{cursor_y} #{pane_dead} #{pane_in_mode} #{pane_title}"
        column, row, dead, mode, title = (
            self.tmux("display-message", "-p", "-t", _TARGET, facts).rstrip("\n").split(" ", 4)
        )
        return Screen(
            rows=tuple(shown.split("\n")[:-1]),
            title=title,
            cursor=(int(column), int(row)),
            dead=dead == "1",
            in_mode=mode != "0",
        )

    def text(self) -> str:
        """The visible screen without styles."""
        return self.tmux("capture-pane", "-p", "-t", _TARGET)

    def type(self, text: str) -> None:
        """Type *text* literally, all at once."""
        self.tmux("send-keys", "-t", _TARGET, "-l", "--", text)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", _TARGET, *keys)

    def paste(self, text: str) -> None:
        """Paste *text* in brackets, newlines as they are."""
        self._pastes += 1
        buffer = f"paste-{self._pastes}"
        self.tmux("load-buffer", "-b", buffer, "-", text=text)
        self.tmux("paste-buffer", "-d", "-p", "-r", "-b", buffer, "-t", _TARGET)

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-t", "agent:0", "-x", str(columns), "-y", str(rows))

    def wait(self, condition: Callable[[Screen], bool], *, seconds: float = LIMIT_SECONDS) -> Screen:
        """The first screen that meets *condition*.

        Raises:
            NeverHappened: None did within *seconds*; the message shows the last one.
        """
        screen = self.screen()

        def looked() -> bool:
            nonlocal screen
            screen = self.screen()
            return condition(screen)

        wait_for(looked, seconds=seconds, told=lambda: f"title {screen.title!r}\n{self.text()}")
        return screen


@contextmanager
def open_pane(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    working_directory: Path,
    columns: int = 120,
    rows: int = 40,
) -> Iterator[Pane]:
    """A pane that runs *argv*; its tmux server ends with the block, and all that runs in it."""
    variables = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
    # Not pytest's own folder: a socket's path has room for 104 bytes. tmux leaves it behind.
    with tempfile.TemporaryDirectory(prefix="ph-") as folder:
        pane = Pane(Path(folder) / "tmux")
        pane.tmux(
            *("start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"),
            *("new-session", "-d", "-s", "agent", "-x", str(columns), "-y", str(rows)),
            *("-c", str(working_directory), *variables, "--", *argv),
        )
        try:
            yield pane
        finally:
            pane.tmux("kill-server")
