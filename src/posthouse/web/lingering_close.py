"""How a connection ends without taking its last answer along."""

import asyncio
from collections.abc import Callable
from typing import Any

_LINGER_SECONDS = 2.0
#: How long a peer may take to read what is left for it; one that never does would keep us for ever.
_LEFT_SECONDS = 10.0
#: More than that goes out at once, so that whoever writes without end is slowed by its peer.
_MAX_HELD_BYTES = 16 << 10


class PartingTransport(asyncio.Transport):
    """A transport that, told to close on a peer that is still sending, first hears it out.

    What is written in one round of the loop, such as the head of an answer and its body, goes out together:
    each write of its own is a system call here and wakes the peer there.

    A socket that is closed with unread data resets the connection, and the peer may lose the answer that
    says why. So we say that we are done, overlook what still comes, and close when the peer does, or soon.
    """

    def __init__(self, transport: asyncio.Transport, *, is_sending: Callable[[], bool]) -> None:
        super().__init__()
        self._transport = transport
        self._is_sending = is_sending
        self._last_moment: asyncio.TimerHandle | None = None
        self._held: list[bytes | bytearray | memoryview] = []
        self._held_bytes = 0

    @property
    def is_parting(self) -> bool:
        """Whether nothing that comes is heard any more."""
        return self._last_moment is not None

    def close(self) -> None:
        """Close as above. A second call does not wait."""
        self.flush()
        if self._last_moment is None and self._is_sending() and not self._transport.is_closing():
            self._transport.write_eof()
            self._transport.resume_reading()
            self._abort_after(_LINGER_SECONDS)
        else:
            if self._last_moment is None and not self._transport.is_closing():
                self._abort_after(_LEFT_SECONDS)
            self._transport.close()

    def _abort_after(self, seconds: float) -> None:
        self._last_moment = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def forget(self) -> None:
        """The connection is gone; nothing is to be done at the last moment."""
        self._held.clear()
        if self._last_moment is not None:
            self._last_moment.cancel()

    def abort(self) -> None:
        self._held.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self.is_parting or self._transport.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_closing():
            return
        if not self._held:
            asyncio.get_running_loop().call_soon(self.flush)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > _MAX_HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Let go out what is held back for the end of this round."""
        held, self._held, self._held_bytes = self._held, [], 0
        if held and not self._transport.is_closing():  # uvloop raises there; nobody hears us any more
            self._transport.write(b"".join(held))

    def pause_reading(self) -> None:
        if not self.is_parting:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
