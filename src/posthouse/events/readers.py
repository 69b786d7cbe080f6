"""The readers of one gateway's events: their limit, and how many were dropped as too slow."""

import asyncio

from posthouse.errors import Unavailable
from posthouse.events.event import Position
from posthouse.events.journal import Journal
from posthouse.events.reader import MAX_DISK_READERS, Reader

MAX_READERS = 64


class EventReaders:
    """The readers of one gateway. A slow reader never slows the gateway."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._disk = asyncio.Semaphore(MAX_DISK_READERS)
        self._readers: set[Reader] = set()
        #: Set when the gateway stops: every stream ends then, and no other starts.
        self.stopped = asyncio.Event()
        #: Readers that were dropped because they did not keep up.
        self.dropped_count = 0

    def __len__(self) -> int:
        return len(self._readers)

    def check_capacity(self) -> None:
        """Raises:
        Unavailable: `MAX_READERS` are connected; code `too_many_readers`.
        """
        if len(self._readers) >= MAX_READERS:
            raise Unavailable(
                f"{MAX_READERS} readers follow these events already; close some", code="too_many_readers"
            )

    def add_reader(self, after: Position | None) -> Reader:
        """A new reader; end it with `remove_reader`."""
        reader = self.uncounted_reader(after)
        self._readers.add(reader)
        return reader

    def remove_reader(self, reader: Reader) -> None:
        self._readers.discard(reader)
        reader.close()

    def uncounted_reader(self, after: Position | None) -> Reader:
        """An internal reader: not counted towards the limit, closed by the caller."""
        return Reader(self._journal, after=after, disk=self._disk)

    def stop(self) -> None:
        """End every stream."""
        self.stopped.set()
