"""Told by the kernel when something in a folder changes, instead of looking again and again. Linux only."""

import asyncio
import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_IN_MODIFY, _IN_CLOSE_WRITE, _IN_MOVED_TO = 0x2, 0x8, 0x80
_IN_NONBLOCK, _IN_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_READ_BYTES = 64 * 1024


class FolderWatch:
    """Calls *on_change* on the running loop after files of *folder* were written or moved into it.

    Several changes may come as one call. Whoever creates it closes it.

    Raises:
        OSError: The folder can't be watched: it is not there, or the system's watches are used up.
    """

    def __init__(self, folder: Path, on_change: Callable[[], None]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = _checked(libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC))
        try:
            mask = _IN_MODIFY | _IN_CLOSE_WRITE | _IN_MOVED_TO
            _checked(libc.inotify_add_watch(self._descriptor, os.fsencode(folder), mask))
        except OSError:
            os.close(self._descriptor)
            raise
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._descriptor, self._changed)

    def close(self) -> None:
        """Stop watching. A second call does nothing."""
        if self._descriptor < 0:
            return
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1

    def _changed(self) -> None:
        # What changed is not read: the caller looks at the folder, which also holds what came before us.
        os.read(self._descriptor, _READ_BYTES)
        self._on_change()


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
