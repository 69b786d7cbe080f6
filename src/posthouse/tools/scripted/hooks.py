"""The commands a person wants run at events of a turn, from `settings.json` of the home.

`{"hooks": {"Stop": "command"}}`: the command runs with `sh`, the event as JSON on its stdin.
"""

import json
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.tools.scripted.truth import Truth

if TYPE_CHECKING:
    from subprocess import Popen

SETTINGS_FILE = "settings.json"
_LIMIT_SECONDS = 5.0
_POLL_SECONDS = 0.02


def read_settings(home: Path) -> dict[str, object]:
    """The home's settings; empty when there are none.

    Raises:
        ValueError: The file is not a JSON object.
    """
    path = home / SETTINGS_FILE
    if not path.exists():
        return {}
    settings = json.loads(path.read_bytes())
    if not isinstance(settings, dict):
        raise ValueError(f"{path} must hold a JSON object")
    return settings


def commands(settings: Mapping[str, object]) -> dict[str, str]:
    """The hook commands of *settings*, by event."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, Mapping):
        return {}
    return {str(event): command for event, command in hooks.items() if isinstance(command, str)}


class Hooks:
    """Runs hooks one after the other, in the order of their events, without making anybody wait.

    One that fails or hangs is noted, and stops nobody.
    """

    def __init__(self, commands: Mapping[str, str], truth: Truth) -> None:
        self._commands = commands
        self._truth = truth
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._running: tuple[str, float, Popen[bytes]] | None = None

    @property
    def is_running(self) -> bool:
        """Whether `reap` still has something to do."""
        return self._running is not None

    def fire(self, event: str, **fields: object) -> None:
        """Run the hook for *event*, if there is one; returns at once."""
        if event in self._commands:
            self._waiting.append((event, json.dumps({"hook_event_name": event, **fields}).encode()))
            self.reap()

    def reap(self) -> None:
        """Note what ended, kill what is beyond its time, start what waits."""
        if self._running is not None:
            event, deadline, process = self._running
            code = process.poll()
            if code is None and time.monotonic() < deadline:
                return
            process.kill()
            code = process.wait()
            self._running = None
            if code:
                self._truth.write("hook_failed", text=event, code=code)
        if self._waiting:
            self._start(*self._waiting.popleft())

    def finish(self) -> None:
        """Wait until all have ended, each within its time limit."""
        while self._running is not None:
            time.sleep(_POLL_SECONDS)
            self.reap()

    def _start(self, event: str, payload: bytes) -> None:
        import subprocess  # slow to load, and most homes have no hooks
        import tempfile

        # A file, so that a hook that reads slowly or not at all blocks nothing.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(payload)
            stdin.seek(0)
            process = subprocess.Popen(
                ["/bin/sh", "-c", self._commands[event]],
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._running = (event, time.monotonic() + _LIMIT_SECONDS, process)
        self._truth.write("hook", text=event)
