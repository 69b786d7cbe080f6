"""Text on its way into a pane: a file that tmux loads into a buffer, and pastes.

tmux keeps the words of its commands and shows them to every client, so the text is in none of them. Who
holds the pane's lock writes the file; it is gone when the text is in the pane. What a killed process leaves,
file or buffer, is removed by whoever attaches to the session next.
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


class TextNotPassed(Unavailable):
    """The text could not be given to tmux; nothing was typed."""

    code = "text_not_passed"


def new_name() -> str:
    """A name for a buffer, by which others can tell whether its process is alive."""
    process = processes.identify(os.getpid())
    start_ticks = process.start_ticks if process else 0
    return f"posthouse-{os.getpid()}-{start_ticks}-{ids.hex_id(16)}"


@contextmanager
def file_with(text: str, *, lock_path: Path) -> Iterator[Path]:
    """A file beside *lock_path* with *text*, for as long as the body runs. The caller holds the lock.

    Raises:
        UnsendableText: A pane can't be given this text.
        TextNotPassed: The file can't be written.
    """
    content = quoting.encode(text)
    path = lock_path.with_name(f".{lock_path.name}.{ids.hex_id(16)}{_SUFFIX}")
    try:
        try:
            _remove_files(lock_path)
            with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
                stream.write(content)
        except OSError as error:
            raise TextNotPassed(f"{path} can't be written, so nothing was typed: {error.strerror}") from error
        crashpoints.reach("prompt file written")
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


async def sweep(client: ControlClient, *, lock_path: Path) -> None:
    """Remove the buffers of processes that ended, and their files beside *lock_path*, if no one holds it."""
    with suppress(locks.LockHeld, OSError), locks.hold(lock_path):
        _remove_files(lock_path)
    with suppress(PosthouseError):  # the next one to attach tries again
        for name in (await client.command("list-buffers", "-F", "#{buffer_name}")).splitlines():
            if _is_left(name):
                await client.command("delete-buffer", "-b", name)


def _is_left(name: str) -> bool:
    """Whether the process that made the buffer *name* has ended. False for a buffer that is not ours."""
    found = _NAME.fullmatch(name)
    return (
        found is not None and not processes.Process(int(found["pid"]), int(found["start_ticks"])).is_alive()
    )


def _remove_files(lock_path: Path) -> None:
    for left in lock_path.parent.glob(f".{lock_path.name}.*{_SUFFIX}"):
        left.unlink(missing_ok=True)
