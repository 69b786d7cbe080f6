"""Whether files can be written below a folder now: for `/ready`, which must not say yes on a full disk."""

import contextlib
import os
from pathlib import Path

from posthouse.errors import Unavailable
from posthouse.support import system_errors
from posthouse.support.threads import Threads

#: About what one accepted request takes, journals included.
_CHECK_BYTES = 64 << 10
#: A disk that takes longer to create a small file counts as one that does not answer.
_CHECK_SECONDS = 5.0
_NAME = ".write-check"


class DiskCheck:
    """Checks one folder, in a thread, for one loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._threads = Threads(at_once=1, waiting=100, name="the disk check")

    async def problem(self) -> str | None:
        """Why nothing can be written there now; None when it can. Leaves no file behind."""
        try:
            await self._threads.run(lambda: _write(self._folder), within_seconds=_CHECK_SECONDS)
        except Unavailable as error:
            return f"{self._folder}: {error}"
        except OSError as error:
            return str(system_errors.translated(error) or error)
        return None


def _write(folder: Path) -> None:
    """Raises:
    OSError: The folder is gone, or does not take a small file.
    """
    path = folder / _NAME
    # What a killed process left, or another program put there: a named pipe would be waited for.
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
    while left > 0:  # a disk that is nearly full takes a part, and refuses the rest
        try:
            left -= os.write(descriptor, bytes(left))
        except OSError as error:
            error.filename = str(path.parent)
            raise
