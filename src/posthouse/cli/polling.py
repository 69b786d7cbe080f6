"""Patience with an end, and the one thing a waiter reads of the queue."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import gateway_files as gf

_LOOK_SECONDS = 0.05
_BUSY_SECONDS = 2.0
_ROW = "SELECT state, error_detail FROM gateway_requests WHERE request_id = ?"


class Deadline:
    """How long somebody is willing to wait; None is for ever."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    def looks(self) -> Iterator[None]:
        """One step each time it is worth looking again, until the time is over."""
        while True:
            yield
            if self.has_passed:
                return
            left = self.left()
            time.sleep(_LOOK_SECONDS if left is None else min(_LOOK_SECONDS, left))


@dataclass(frozen=True, slots=True)
class Row:
    """One request as the queue has it."""

    state: str
    error: str | None

    @property
    def is_over(self) -> bool:
        return self.state not in ("accepted", "running")


def row(gateway_root: Path, request_id: str) -> Row | None:
    """The request in `queue.sqlite`, read without a lock; None when it is not there."""
    # For reading alone, SQLite would wait for the other end of a named pipe.
    address = f"{(gateway_root / gf.QUEUE).absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)) as queue:
            found = queue.execute(_ROW, (request_id,)).fetchone()
    except sqlite3.OperationalError:
        # Being made or checkpointed at this moment: the caller looks again.
        return None
    return Row(found[0], found[1]) if found else None
