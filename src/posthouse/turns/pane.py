"""Writes to the agent's pane without blocking.

tmux stops reading in copy mode or while its server hangs; the turn must go on.
"""

import os
import select
import time
from collections import deque

_MAX_BUFFERED_BYTES = 256 * 1024


class PaneOutput:
    """Buffered output to one terminal. Drops text beyond the buffer and reports how many bytes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer: deque[bytes] = deque()
        self._buffered_bytes = 0
        self._dropped_bytes = 0
        os.set_blocking(descriptor, False)

    def write(self, text: str) -> None:
        data = text.encode(errors="replace")
        if self._buffered_bytes + len(data) > _MAX_BUFFERED_BYTES:
            self._dropped_bytes += len(data)
            return
        self._queue(data)
        self.flush()

    def flush(self) -> bool:
        """Write what the terminal accepts now. True if the buffer is empty."""
        while self._buffer:
            written = self._try(self._buffer[0])
            if not written:
                return False
            self._buffered_bytes -= written
            rest = self._buffer.popleft()[written:]
            if rest:
                self._buffer.appendleft(rest)
        if self._dropped_bytes:
            self._queue(f"[{self._dropped_bytes} bytes left out]\n".encode())
            self._dropped_bytes = 0
            return self.flush()
        return True

    def close(self, *, seconds: float) -> None:
        """Flush for at most *seconds*, then restore blocking mode."""
        deadline = time.monotonic() + seconds
        while not self.flush() and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left)
        os.set_blocking(self._descriptor, True)

    def _queue(self, data: bytes) -> None:
        if data:
            self._buffer.append(data)
            self._buffered_bytes += len(data)

    def _try(self, data: bytes) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:  # the pane is gone: discard
            return len(data)
