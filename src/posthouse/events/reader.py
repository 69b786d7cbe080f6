"""Follows the events of one gateway from any place on: from disk as long as it must, from memory then."""

import asyncio
from collections.abc import Sequence

from posthouse.events import history
from posthouse.events.event import Event, Gap, Position
from posthouse.events.history import Past
from posthouse.events.journal import Journal

#: Before everything that is kept.
OLDEST = Position(number=0, check=None)
ROTATED = "older events are no longer kept"
UNKNOWN = "that id is not of this history; what is kept is told from its beginning"
VANISHED = "the file of events was changed by somebody else"
#: Readers of one gateway that may be at its files at the same time.
DISK_READERS = 2

Told = Event | Gap


class Reader:
    """One place in the history, moving on. It keeps nothing: the journal is its buffer.

    *after* None stands at the end; `OLDEST` before everything that is kept. Whoever creates it closes it.
    """

    def __init__(self, journal: Journal, *, after: Position | None, disk: asyncio.Semaphore) -> None:
        self._journal = journal
        self._disk = disk
        self._asked = after
        self._at = journal.last_number
        self._past: Past | None = None
        self._is_closed = False
        self._was_live = after is None
        self._news = asyncio.Event()
        self._leave = journal.listen(self._hear)

    @property
    def at(self) -> int:
        """The number of the last event that was told, or passed over."""
        return self._at

    @property
    def has_fallen_behind(self) -> bool:
        """Whether it had caught up, and then let so much pass that it is no longer in memory."""
        return self._was_live and self._at < self._journal.remembered_after

    async def next(self, *, within_seconds: float | None = None) -> Sequence[Told]:
        """What comes next: at once when there is something, otherwise when it happens.

        Nothing after *within_seconds* without an event.
        """
        while True:
            told = await self.look()
            if told:
                return told
            self._news.clear()
            try:
                async with asyncio.timeout(within_seconds):
                    await self._news.wait()
            except TimeoutError:
                return []

    async def look(self) -> Sequence[Told]:
        """What comes next and is there already. Nothing: it has caught up."""
        if self._asked is not None:
            position, self._asked = self._asked, None
            if (gap := await self._stand_after(position)) is not None:
                return [gap]
        while self._at < self._journal.remembered_after:
            if told := await self._from_disk():
                return told
        self._close_past()
        self._was_live = True
        events = self._journal.recent(after=self._at)
        self._at = events[-1].number if events else self._at
        return events

    def close(self) -> None:
        self._is_closed = True
        self._leave()
        self._close_past()

    def _hear(self, _: Event) -> None:
        self._news.set()

    async def _stand_after(self, position: Position) -> Gap | None:
        """Go to *position*; where that is impossible, to the oldest event that is kept, and say so."""
        self._at = position.number
        journal = self._journal
        if position.number > journal.remembered_after:
            known = [event.position for event in journal.recent(after=position.number - 1)[:1]]
            if position in known or (position.check is None and position.number <= journal.last_number):
                return None
        async with self._disk:
            first, leads_on = await asyncio.to_thread(history.look_up, journal.path, position)
        if leads_on and position.number <= journal.last_number:
            return None
        self._at = first - 1
        if position == OLDEST:
            return None
        missing = first - 1 - position.number
        end = Position(number=self._at, check=None)
        if missing > 0:
            return Gap(position=end, missing=missing, reason=ROTATED)
        return Gap(position=end, missing=None, reason=UNKNOWN)

    async def _from_disk(self) -> Sequence[Told]:
        async with self._disk:
            events, reached = await asyncio.to_thread(self._read_past)
        if events:
            self._at = events[-1].number
            return events
        if reached > self._at:
            self._at = reached
            return []
        # Neither in memory nor on disk: the file was cut or removed under us.
        self._at = self._journal.remembered_after
        return [Gap(position=Position(number=self._at, check=None), missing=None, reason=VANISHED)]

    def _read_past(self) -> tuple[list[Event], int]:
        """The next events on disk, and how far that goes. In a thread."""
        if self._past is None:
            self._past = Past(self._journal.path, after=self._at)
        opened = self._past
        events = opened.next()
        if not events or self._is_closed:
            opened.close()
            self._past = None
        return events, opened.number

    def _close_past(self) -> None:
        if self._past is not None:
            self._past.close()
            self._past = None
