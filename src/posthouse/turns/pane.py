"""Writing to the agent's pane without ever waiting for it.

tmux stops reading while a person scrolls or its server hangs; a turn must not stop with it.
"""

import os
import select
import time
from collections import deque

_MAX_WAITING_BYTES = 256 * 1024


class Pane:
    """One terminal. What does not fit is left out, and how much is said."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._left_out = 0
        os.set_blocking(descriptor, False)

    def write(self, text: str) -> None:
        data = text.encode(errors="replace")
        if self._waiting_bytes + len(data) > _MAX_WAITING_BYTES:
            self._left_out += len(data)
            return
        self._queue(data)
        self.flush()

    def flush(self) -> bool:
        """Pass on what the terminal takes now. True when nothing waits any more."""
        while self._waiting:
            written = self._try(self._waiting[0])
            if not written:
                return False
            self._waiting_bytes -= written
            rest = self._waiting.popleft()[written:]
            if rest:
                self._waiting.appendleft(rest)
        if self._left_out:
            self._queue(f"[{self._left_out} bytes left out]\n".encode())
            self._left_out = 0
            return self.flush()
        return True

    def close(self, *, seconds: float) -> None:
        """Give the terminal a last moment to take what waits, then leave it as it was."""
        deadline = time.monotonic() + seconds
        while not self.flush() and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left)
        os.set_blocking(self._descriptor, True)

    def _queue(self, data: bytes) -> None:
        if data:
            self._waiting.append(data)
            self._waiting_bytes += len(data)

    def _try(self, data: bytes) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:  # the pane is gone; nobody is left to read this
            return len(data)
