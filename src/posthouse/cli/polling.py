"""Deadlines, and reading one request from the queue database."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import gateway_files as gf

_POLL_SECONDS = 0.05
_BUSY_SECONDS = 2.0
_ROW = "SELECT state, error_detail FROM gateway_requests WHERE request_id = ?"


class Deadline:
    """A timeout in seconds from now; None: no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    def polls(self) -> Iterator[None]:
        """Yield once per poll interval until the deadline; at least once."""
        while True:
            yield
            if self.has_passed:
                return
            left = self.left()
            time.sleep(_POLL_SECONDS if left is None else min(_POLL_SECONDS, left))


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request in the queue."""

    state: str
    error: str | None

    @property
    def is_over(self) -> bool:
        return self.state not in ("accepted", "running")


def read_request(gateway_root: Path, request_id: str) -> RequestRow | None:
    """The request in `queue.sqlite`, read without a lock; None if it is not there."""
    # mode=rw, as with mode=ro SQLite would block on a named pipe of that name.
    address = f"{(gateway_root / gf.QUEUE).absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)) as queue:
            found = queue.execute(_ROW, (request_id,)).fetchone()
    except sqlite3.OperationalError:
        # The database is being created or checkpointed: the caller polls again.
        return None
    return RequestRow(found[0], found[1]) if found else None
