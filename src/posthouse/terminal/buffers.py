"""Paste files and tmux buffers: tmux loads a text from a file into a buffer and pastes the buffer.

tmux keeps the arguments of its commands and shows them to every client, so they never contain the text. The
holder of the pane's lock writes the file and removes it after the paste. Files and buffers that a killed
process leaves behind are removed at the next attach to the session.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from posthouse.errors import PosthouseError, Unavailable
from posthouse.support import crashpoints, ids, locks, processes
from posthouse.terminal import quoting
from posthouse.terminal.control import ControlClient

_NAME = re.compile(r"posthouse-(?P<pid>\d+)-(?P<start_ticks>\d+)-[0-9a-f]{16}")
_SUFFIX = ".paste"
#: The error code when tmux did not get the text and nothing was typed.
TEXT_NOT_PASSED = "text_not_passed"


def new_name() -> str:
    """A unique buffer name that contains the pid and start time of this process."""
    process = processes.identify(os.getpid())
    start_ticks = process.start_ticks if process else 0
    return f"posthouse-{os.getpid()}-{start_ticks}-{ids.hex_id(16)}"


@contextmanager
def paste_file(text: str, *, lock_path: Path) -> Iterator[Path]:
    """A file beside *lock_path* with *text*, removed after the body. The caller holds the lock.

    Raises:
        InvalidInput: `unsendable_text`: tmux can't carry this text.
        Unavailable: `text_not_passed`: the file can't be written.
    """
    content = quoting.encode(text)
    path = lock_path.with_name(f".{lock_path.name}.{ids.hex_id(16)}{_SUFFIX}")
    try:
        try:
            _remove_files(lock_path)
            with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
                stream.write(content)
        except OSError as error:
            message = f"{path} can't be written, so nothing was typed: {error.strerror}"
            raise Unavailable(message, code=TEXT_NOT_PASSED) from error
        crashpoints.reach("prompt file written")
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


async def sweep(client: ControlClient, *, lock_path: Path) -> None:
    """Remove the buffers of ended processes, and stale files beside *lock_path* unless the lock is held."""
    with suppress(locks.LockHeld, OSError), locks.hold(lock_path):
        _remove_files(lock_path)
    with suppress(PosthouseError):  # the next attach tries again
        for name in (await client.command("list-buffers", "-F", "#{buffer_name}")).splitlines():
            if _is_stale(name):
                await client.command("delete-buffer", "-b", name)


def _is_stale(name: str) -> bool:
    """Whether the process that made the buffer *name* has ended. False for a buffer that is not ours."""
    found = _NAME.fullmatch(name)
    return (
        found is not None and not processes.Process(int(found["pid"]), int(found["start_ticks"])).is_alive()
    )


def _remove_files(lock_path: Path) -> None:
    for left in lock_path.parent.glob(f".{lock_path.name}.*{_SUFFIX}"):
        left.unlink(missing_ok=True)
