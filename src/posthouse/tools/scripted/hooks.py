"""The commands a person wants run at events of a turn, from `settings.json` of the home.

`{"hooks": {"Stop": "command"}}`: the command runs with `sh`, the event as JSON on its stdin.
"""

import json
import time
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
    """Starts hooks and keeps an eye on them. A hook that fails or hangs stops nobody."""

    def __init__(self, commands: Mapping[str, str], truth: Truth) -> None:
        self._commands = commands
        self._truth = truth
        self._running: list[tuple[float, str, "Popen[bytes]"]] = []

    def fire(self, event: str, **fields: object) -> None:
        """Start the hook for *event*, if there is one, and return at once."""
        command = self._commands.get(event)
        if command is None:
            return
        import subprocess  # slow to load, and most homes have no hooks
        import tempfile

        # A file, so that a hook that reads slowly or not at all blocks nothing.
        with tempfile.TemporaryFile() as payload:
            payload.write(json.dumps({"hook_event_name": event, **fields}).encode())
            payload.seek(0)
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=payload,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._running.append((time.monotonic() + _LIMIT_SECONDS, event, process))
        self._truth.write("hook", text=event)

    @property
    def is_running(self) -> bool:
        """Whether `reap` still has something to collect."""
        return bool(self._running)

    def reap(self) -> None:
        """Collect those that ended; kill those beyond their time."""
        now, left = time.monotonic(), []
        for deadline, event, process in self._running:
            code = process.poll()
            if code is None and now < deadline:
                left.append((deadline, event, process))
                continue
            if code is None:
                process.kill()
                code = process.wait()
            if code:
                self._truth.write("hook_failed", text=event, code=code)
        self._running = left

    def finish(self) -> None:
        """Wait until all have ended, at most their time limit."""
        self.reap()
        while self._running:
            time.sleep(_POLL_SECONDS)
            self.reap()
