"""User hooks: commands from the home's `settings.json` that run at events of a turn.

`{"hooks": {"Stop": "command"}}`: the command runs with `sh`, the event as JSON on its stdin.
"""

import json
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.tools.scripted.truth import TruthWriter

if TYPE_CHECKING:
    from subprocess import Popen

SETTINGS_FILE = "settings.json"
_LIMIT_SECONDS = 5.0
_POLL_SECONDS = 0.02


def read_settings(home: Path) -> dict[str, object]:
    """The home's settings; empty if there are none.

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


class HookRunner:
    """Runs hooks one at a time, in the order of their events, without blocking.

    A hook that fails or hangs is logged; the others still run.
    """

    def __init__(self, commands: Mapping[str, str], truth: TruthWriter) -> None:
        self._commands = commands
        self._truth = truth
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._running: tuple[str, float, Popen[bytes]] | None = None

    @property
    def is_running(self) -> bool:
        """Whether `reap` still has something to do."""
        return self._running is not None

    def fire(self, event: str, **fields: object) -> None:
        """Queue the hook for *event*, if there is one; does not block."""
        if event in self._commands:
            self._waiting.append((event, json.dumps({"hook_event_name": event, **fields}).encode()))
            self.reap()

    def reap(self) -> None:
        """Log the ended hook, kill one beyond its time limit, start the next."""
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
        """Wait until all hooks have ended, each within its time limit."""
        while self._running is not None:
            time.sleep(_POLL_SECONDS)
            self.reap()

    def _start(self, event: str, payload: bytes) -> None:
        import subprocess  # slow to load, and most homes have no hooks
        import tempfile

        # A file, so that a hook that does not read its stdin blocks nothing.
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
