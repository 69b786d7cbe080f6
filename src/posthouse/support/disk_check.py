"""Checks that files can be written below a folder, for `/ready`: a full disk is not ready."""

import contextlib
import os
from pathlib import Path

from posthouse.errors import Unavailable
from posthouse.support import system_errors
from posthouse.support.threads import BoundedThreads

#: About what one accepted request takes, journals included.
_CHECK_BYTES = 64 << 10
#: A disk that takes longer to create a small file counts as unresponsive.
_CHECK_SECONDS = 5.0
_NAME = ".write-check"


class DiskCheck:
    """Checks one folder, in a thread, for one loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._threads = BoundedThreads(max_running=1, max_waiting=100, name="the disk check")

    async def problem(self) -> str | None:
        """Why the folder can't be written now; None when it can. Leaves no file behind."""
        try:
            await self._threads.run(lambda: _write(self._folder), within_seconds=_CHECK_SECONDS)
        except Unavailable as error:
            return f"{self._folder}: {error}"
        except OSError as error:
            return str(system_errors.translate(error) or error)
        return None


def _write(folder: Path) -> None:
    """Raises:
    OSError: The folder is gone, or does not take a small file.
    """
    path = folder / _NAME
    # A killed process may have left it, or another program: opening a named pipe would block.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _fill(descriptor, path)
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            path.unlink()


def _fill(descriptor: int, path: Path) -> None:
    left = _CHECK_BYTES
    while left > 0:  # a nearly full disk writes a part
        try:
            left -= os.write(descriptor, bytes(left))
        except OSError as error:
            error.filename = str(path.parent)
            raise
