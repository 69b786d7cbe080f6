"""Follows the events of one gateway from any position: first from disk, then from memory."""

import asyncio
from collections.abc import Sequence

from posthouse.events import history
from posthouse.events.event import Event, Gap, Position
from posthouse.events.history import HistoryReader
from posthouse.events.journal import Journal

#: Before all retained events.
OLDEST = Position(number=0, check=None)
ROTATED = "older events are no longer kept"
UNKNOWN = "unknown event id; events follow from the oldest one that is kept"
VANISHED = "the event file was changed by another program"
#: Readers of one gateway that may read its files at the same time.
MAX_DISK_READERS = 2

StreamItem = Event | Gap


class Reader:
    """A cursor in the event log. It buffers nothing: the journal is its buffer.

    *after* None starts at the end; `OLDEST` before all retained events. The creator closes it.
    """

    def __init__(self, journal: Journal, *, after: Position | None, disk: asyncio.Semaphore) -> None:
        self._journal = journal
        self._disk = disk
        self._start = after
        self._last_number = journal.last_number
        self._history: HistoryReader | None = None
        self._is_closed = False
        self._was_live = after is None
        self._wakeup = asyncio.Event()
        self._unsubscribe = journal.listen(self._on_event)

    @property
    def last_number(self) -> int:
        """The number of the last event that was returned or skipped."""
        return self._last_number

    @property
    def has_fallen_behind(self) -> bool:
        """Whether it had caught up, and the next event has since left memory."""
        return self._was_live and self._last_number < self._journal.in_memory_after

    async def next(self, *, within_seconds: float | None = None) -> Sequence[StreamItem]:
        """The next items; waits for one when there is none.

        Empty after *within_seconds* without an event.
        """
        while True:
            items = await self.poll()
            if items:
                return items
            self._wakeup.clear()
            try:
                async with asyncio.timeout(within_seconds):
                    await self._wakeup.wait()
            except TimeoutError:
                return []

    async def poll(self) -> Sequence[StreamItem]:
        """The next items that are available now. Empty: it has caught up."""
        if self._start is not None:
            position, self._start = self._start, None
            if (gap := await self._seek(position)) is not None:
                return [gap]
        while self._last_number < self._journal.in_memory_after:
            if items := await self._from_disk():
                return items
        self._close_history()
        self._was_live = True
        events = self._journal.recent(after=self._last_number)
        self._last_number = events[-1].number if events else self._last_number
        return events

    def close(self) -> None:
        self._is_closed = True
        self._unsubscribe()
        self._close_history()

    def _on_event(self, _: Event) -> None:
        self._wakeup.set()

    async def _seek(self, position: Position) -> Gap | None:
        """Seek to *position*, or to the oldest retained event; the gap is returned."""
        self._last_number = position.number
        journal = self._journal
        if position.number > journal.in_memory_after:
            known = [event.position for event in journal.recent(after=position.number - 1)[:1]]
            if position in known or (position.check is None and position.number <= journal.last_number):
                return None
        async with self._disk:
            first, leads_on = await asyncio.to_thread(history.locate, journal.path, position)
        if leads_on and position.number <= journal.last_number:
            return None
        self._last_number = first - 1
        if position == OLDEST:
            return None
        missing = first - 1 - position.number
        end = Position(number=self._last_number, check=None)
        if missing > 0:
            return Gap(position=end, missing=missing, reason=ROTATED)
        return Gap(position=end, missing=None, reason=UNKNOWN)

    async def _from_disk(self) -> Sequence[StreamItem]:
        async with self._disk:
            events, reached = await asyncio.to_thread(self._read_history)
        if events:
            self._last_number = events[-1].number
            return events
        if reached > self._last_number:
            self._last_number = reached
            return []
        # Neither in memory nor on disk: another program truncated or removed the file.
        self._last_number = self._journal.in_memory_after
        return [Gap(position=Position(number=self._last_number, check=None), missing=None, reason=VANISHED)]

    def _read_history(self) -> tuple[list[Event], int]:
        """The next events on disk, and the last number read. Runs in a thread."""
        if self._history is None:
            self._history = HistoryReader(self._journal.path, after=self._last_number)
        opened = self._history
        events = opened.next()
        if not events or self._is_closed:
            opened.close()
            self._history = None
        return events, opened.number

    def _close_history(self) -> None:
        if self._history is not None:
            self._history.close()
            self._history = None
