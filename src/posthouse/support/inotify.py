"""inotify: callbacks when a folder changes, without polling. Linux only.

The kernel limits each user to about a hundred inotify instances but hundreds of thousands of watches, so all
watches of one event loop share an instance.
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

    With *entries* also when an entry is created, removed or moved away. Several changes may cause one call.
    *on_end* is called when the folder itself was removed: a new one of the same name is not watched. The
    creator closes it.

    Raises:
        OSError: The folder does not exist, or the system's watches are used up.
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
    """One inotify instance and the listeners of each watch. Closed with its last listener."""

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
            # A folder has one watch per instance: a second listener must not narrow its mask.
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
        # Details of the change are not passed on: the caller reads the folder.
        events = set(_events(os.read(self._descriptor, _READ_BYTES)))
        changed = {watch for watch, is_end in events if not is_end}
        affected = self._listeners if _OVERFLOW in changed else changed & self._listeners.keys()
        for watch in sorted(affected):
            for listener in self._live_listeners(watch):
                listener.on_change()
        for watch, is_end in sorted(events):
            for listener in self._live_listeners(watch) if is_end else ():
                listener.on_end()

    def _live_listeners(self, watch: int) -> "Iterator[FolderWatch]":
        """The listeners of *watch*, without those that an earlier callback closed."""
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
    """The watches in *content*, and whether each has ended; `_OVERFLOW` when events were lost."""
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
