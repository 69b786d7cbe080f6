"""Control clients of one tmux server come and go one at a time.

tmux 3.3a tells every control client when another leaves, or when a session begins or ends. One that is still
introducing itself has no buffer for that: the server dies, and all its agents with it. Two programs that each
start a turn are enough. So a lock beside the server's socket is held while a client arrives or leaves, by all
processes of ours. It keeps nobody out for long: after its limit one goes on without it.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from posthouse.support import locks
from posthouse.terminal.client import Server

_SUFFIX = ".posthouse-turnstile"
#: Longer than a client takes to arrive; a frozen server must not freeze those who would find that out.
LONGEST_SECONDS = 5.0
_RETRY_SECONDS = 0.002
#: Many who wait look ever more rarely, or their looking is all that gets done.
_LAST_RETRY_SECONDS = 0.05


@contextmanager
def passing(server: Server) -> Iterator[None]:
    """Let a client arrive or leave in the body."""
    with ExitStack() as stack:
        held = locks.hold(lock_of(server), wait_seconds=LONGEST_SECONDS, retry_seconds=_RETRY_SECONDS)
        with contextlib.suppress(locks.LockHeld, OSError):
            stack.enter_context(held)
        yield


@asynccontextmanager
async def passing_in_loop(server: Server) -> AsyncIterator[None]:
    """As `passing`, without blocking the loop."""
    import asyncio  # who has no loop does not pay for them
    import random

    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + LONGEST_SECONDS, _RETRY_SECONDS
    with ExitStack() as stack:
        while loop.time() < deadline:
            try:
                stack.enter_context(locks.hold(lock_of(server)))
                break
            except locks.LockHeld:
                await asyncio.sleep(pause * random.random())  # not all at the same moment
                pause = min(pause * 2, _LAST_RETRY_SECONDS)
            except OSError:
                break  # a folder that is not ours: then nobody of ours holds a lock there
        yield


def lock_of(server: Server) -> Path:
    """The lock of *server*, beside the socket that tmux makes for it."""
    socket = socket_of(server)
    return socket.with_name(socket.name + _SUFFIX)


def socket_of(server: Server) -> Path:
    """The socket that tmux makes for *server*."""
    name = server.socket or "default"
    if name.startswith("/"):
        return Path(name)
    folder = os.environ.get("TMUX_TMPDIR") or "/tmp"
    return Path(folder, f"tmux-{os.getuid()}", name)
