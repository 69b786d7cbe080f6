"""Told by the kernel when something in a folder changes, instead of looking again and again. Linux only.

The kernel gives each user some hundred of its queues and hundreds of thousands of watches, so all watches of
one event loop share a queue.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

_IN_MODIFY, _IN_CLOSE_WRITE, _IN_MOVED_FROM, _IN_MOVED_TO = 0x2, 0x8, 0x40, 0x80
_IN_CREATE, _IN_DELETE = 0x100, 0x200
_IN_Q_OVERFLOW, _IN_IGNORED = 0x4000, 0x8000
_IN_ONLYDIR, _IN_MASK_ADD = 0x0100_0000, 0x2000_0000
_CONTENT = _IN_MODIFY | _IN_CLOSE_WRITE | _IN_MOVED_TO
_ENTRIES = _IN_CREATE | _IN_DELETE | _IN_MOVED_FROM | _IN_MOVED_TO
#: Watch, what happened, a number that ties two halves of a move, length of the name behind it.
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024

Listener = Callable[[], None]


class FolderWatch:
    """Calls *on_change* on the running loop after files of *folder* were written or moved into it.

    With *entries* also when something is made, removed or moved away. Several changes may come as one call.
    *on_end* is called when the folder itself was removed: another of its name is not watched. Whoever creates
    it closes it.

    Raises:
        OSError: The folder can't be watched: it is not there, or the system's watches are used up.
    """

    def __init__(
        self,
        folder: Path,
        on_change: Listener,
        *,
        entries: bool = False,
        on_end: Listener = lambda: None,
    ) -> None:
        self._queue: _Queue | None = _queue_of_this_loop()
        self.on_change = on_change
        self.on_end = on_end
        self._watch = self._queue.add(folder, _CONTENT | (_ENTRIES if entries else 0), self)

    def close(self) -> None:
        """Stop watching. A second call does nothing."""
        if self._queue is not None:
            self._queue.remove(self._watch, self)
            self._queue = None


class _Queue:
    """One of the kernel's queues, and who listens to which watch. Closed with its last listener."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = _checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._listeners: dict[int, list[FolderWatch]] = {}
        self._loop = loop
        loop.add_reader(self._descriptor, self._changed)

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0

    def add(self, folder: Path, mask: int, listener: FolderWatch) -> int:
        try:
            # A folder has one watch in a queue, whoever asks: another listener must not narrow it.
            flags = mask | _IN_ONLYDIR | _IN_MASK_ADD
            watch = _checked(self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), flags))
        except OSError:
            self._close_if_unused()
            raise
        self._listeners.setdefault(watch, []).append(listener)
        return watch

    def remove(self, watch: int, listener: FolderWatch) -> None:
        listeners = self._listeners.get(watch, [])
        if listener in listeners:
            listeners.remove(listener)
        if watch in self._listeners and not listeners:
            del self._listeners[watch]
            # It fails when the folder has gone, and the watch with it.
            self._libc.inotify_rm_watch(self._descriptor, watch)
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._listeners and self.is_open:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _changed(self) -> None:
        # What changed is not told: the caller looks at the folder, which also holds what came before us.
        events = set(_events(os.read(self._descriptor, _READ_BYTES)))
        changed = {watch for watch, is_end in events if not is_end}
        heard = self._listeners if _OVERFLOW in changed else changed & self._listeners.keys()
        for watch in sorted(heard):
            for listener in self._present(watch):
                listener.on_change()
        for watch, is_end in sorted(events):
            for listener in self._present(watch) if is_end else ():
                listener.on_end()

    def _present(self, watch: int) -> "Iterator[FolderWatch]":
        """Who listens; whoever is closed by the one before does not."""
        for listener in tuple(self._listeners.get(watch, ())):
            if listener in self._listeners.get(watch, ()):
                yield listener


_OVERFLOW = -1
_queues: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue]" = WeakKeyDictionary()


def _queue_of_this_loop() -> _Queue:
    loop = asyncio.get_running_loop()
    queue = _queues.get(loop)
    if queue is None or not queue.is_open:
        queue = _queues[loop] = _Queue(loop)
    return queue


def _events(content: bytes) -> Iterator[tuple[int, bool]]:
    """The watches that *content* is about, and whether each has ended; `_OVERFLOW` when some were lost."""
    position = 0
    while position < len(content):
        watch, mask, _, length = _EVENT.unpack_from(content, position)
        position += _EVENT.size + length
        if mask & _IN_Q_OVERFLOW:
            yield _OVERFLOW, False
        else:
            yield watch, bool(mask & _IN_IGNORED)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
