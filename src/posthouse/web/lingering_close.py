"""Lingering close."""

import asyncio
from collections.abc import Callable
from typing import Any

_LINGER_SECONDS = 2.0
#: How long a peer may take to read the remaining output before the connection is aborted.
_FLUSH_SECONDS = 10.0
#: A larger buffer is flushed at once, so that backpressure reaches the writer.
_MAX_BUFFERED_BYTES = 16 << 10


class LingeringTransport(asyncio.Transport):
    """A transport with lingering close and write buffering.

    Writes of one iteration of the loop, such as head and body of a response, are sent together: each separate
    write costs a system call and wakes the peer.

    A socket that is closed with unread input resets the connection, and the peer may lose the last response.
    So `close` on a peer that is still sending shuts down the write side, discards input, and closes when the
    peer does, or after 2 s.
    """

    def __init__(self, transport: asyncio.Transport, *, is_sending: Callable[[], bool]) -> None:
        super().__init__()
        self._transport = transport
        self._is_sending = is_sending
        self._abort_timer: asyncio.TimerHandle | None = None
        self._buffer: list[bytes | bytearray | memoryview] = []
        self._buffered_bytes = 0

    @property
    def is_lingering(self) -> bool:
        """Whether `close` was called and input is discarded."""
        return self._abort_timer is not None

    def close(self) -> None:
        """Close as above. A second call does not wait."""
        self.flush()
        if self._abort_timer is None and self._is_sending() and not self._transport.is_closing():
            self._transport.write_eof()
            self._transport.resume_reading()
            self._abort_after(_LINGER_SECONDS)
        else:
            if self._abort_timer is None and not self._transport.is_closing():
                self._abort_after(_FLUSH_SECONDS)
            self._transport.close()

    def _abort_after(self, seconds: float) -> None:
        self._abort_timer = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def release(self) -> None:
        """Drop the buffer and the timer after the connection was lost."""
        self._buffer.clear()
        if self._abort_timer is not None:
            self._abort_timer.cancel()

    def abort(self) -> None:
        self._buffer.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self.is_lingering or self._transport.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_closing():
            return
        if not self._buffer:
            asyncio.get_running_loop().call_soon(self.flush)
        self._buffer.append(data)
        self._buffered_bytes += len(data)
        if self._buffered_bytes > _MAX_BUFFERED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send the buffered writes now."""
        held, self._buffer, self._buffered_bytes = self._buffer, [], 0
        if held and not self._transport.is_closing():  # uvloop raises when it is closing
            self._transport.write(b"".join(held))

    def pause_reading(self) -> None:
        if not self.is_lingering:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
