"""Everybody who reads the events of one gateway: how many there may be, and who was too slow."""

import asyncio

from posthouse.errors import Unavailable
from posthouse.events.event import Position
from posthouse.events.journal import Journal
from posthouse.events.reader import DISK_READERS, Reader

MAX_READERS = 64


class TooManyReaders(Unavailable):
    """No more are served at once."""

    code = "too_many_readers"

    def __init__(self) -> None:
        super().__init__(f"{MAX_READERS} readers follow these events already; close some")


class Audience:
    """The readers of one gateway. Nobody in it can slow the gateway."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._disk = asyncio.Semaphore(DISK_READERS)
        self._readers: set[Reader] = set()
        #: Set when the gateway stops: every stream ends then, and no other is begun.
        self.is_over = asyncio.Event()
        #: Readers that were cut because they did not keep up.
        self.cut = 0

    def __len__(self) -> int:
        return len(self._readers)

    def check_room(self) -> None:
        """Return when there is room for one more.

        Raises:
            TooManyReaders: There is none.
        """
        if len(self._readers) >= MAX_READERS:
            raise TooManyReaders

    def join(self, after: Position | None) -> Reader:
        """A new reader; `leave` ends it."""
        reader = self.reader(after)
        self._readers.add(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        self._readers.discard(reader)
        reader.close()

    def reader(self, after: Position | None) -> Reader:
        """A reader that is not of the public: not counted, closed by whoever asked for it."""
        return Reader(self._journal, after=after, disk=self._disk)

    def end(self) -> None:
        """Let every stream end."""
        self.is_over.set()
