"""The truth log: what the agent actually received and did, as ground truth for tests."""

import os
from pathlib import Path

from posthouse.support import clock, files

_MAX_BYTES = 32 * 1024 * 1024


class TruthWriter:
    """Appends one JSON line per event; a single write each, so several processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        files.private_folder(path.parent)

    def write(self, event: str, **fields: object) -> None:
        """Record *event*. Rotates a log beyond its size limit first."""
        self._rotate()
        moment = clock.iso_micros(clock.now())
        files.append_line(self._path, {"event": event, "at": moment, "pid": os.getpid(), **fields})

    def _rotate(self) -> None:
        if self._path.exists() and self._path.stat().st_size > _MAX_BYTES:
            self._path.replace(self._path.with_name(self._path.name + ".1"))
