"""The turns of one agent, whoever started them: recorded here, or found in the session's folder.

Records stay in memory once they were read; what is not over is looked up in its artifacts at every question.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from posthouse.contracts import managed_agent_files as mf
from posthouse.errors import NotFound
from posthouse.server.turns import artifacts
from posthouse.server.turns.store import Mark, Store
from posthouse.sessions.session import Session
from posthouse.turns import runner
from posthouse.turns.turn import Turn, TurnNotFound

#: More than any question asks for.
MAX_KEPT = 500
#: A folder, and a record with its suffix, can be called that.
_MAX_NAME_BYTES = 200


class NoSuchTurn(NotFound):
    """The agent has no turn of that id."""

    code = "turn_not_found"


class Book:
    """One agent's turns. Changed by one at a time; asked by anybody."""

    def __init__(self, agent: str, store: Store) -> None:
        self.agent = agent
        #: The server's own turn that is not over; others may have started theirs.
        self.active: mf.TurnRecord | None = None
        #: The one that a gateway has accepted and not begun.
        self.waiting: mf.TurnRecord | None = None
        self._store = store
        self._recorded: dict[str, mf.TurnRecord] | None = None
        #: Turns of others that are over: their artifacts say nothing new any more.
        self._others: dict[str, mf.TurnRecord] = {}
        self._loading = asyncio.Lock()

    async def begin(self, record: mf.TurnRecord) -> None:
        """Record a turn that is about to start. When this returns, no crash can lose it."""
        await self._put(self._store.begin, record, mf.ACTIVE_TURN)
        self.active = record

    async def wait(self, record: mf.TurnRecord) -> None:
        """Record a turn that waits for its gateway. When this returns, no crash can lose it."""
        await self._put(self._store.begin, record, mf.WAITING_TURN)
        self.waiting = record

    async def promote(self, record: mf.TurnRecord) -> None:
        """The waiting turn begins. Killed in between, it is found under both marks."""
        await self.mark(record)
        await asyncio.to_thread(self._store.clear, self.agent, mf.WAITING_TURN)
        self.waiting = None

    async def mark(self, record: mf.TurnRecord) -> None:
        """Say what is known of the active turn."""
        await asyncio.to_thread(self._store.mark, record, mf.ACTIVE_TURN)
        self.active = record

    async def end(self, record: mf.TurnRecord) -> None:
        """Record how the active or the waiting turn ended."""
        await self._put(self._store.end, record, self._mark_of(record))
        self._forget(record)

    async def drop(self, record: mf.TurnRecord) -> None:
        """Forget a turn that was never accepted.

        If its files can't be removed, the next server finds them, and ends the turn as one that never began.
        """
        mark = self._mark_of(record)
        (await self._records()).pop(record.turn_id, None)
        self._forget(record)
        await asyncio.to_thread(self._store.drop, record, mark)

    async def recover(self) -> None:
        """Find the turns that an earlier server did not see the end of."""
        self.active = await asyncio.to_thread(self._unfinished, mf.ACTIVE_TURN)
        self.waiting = await asyncio.to_thread(self._unfinished, mf.WAITING_TURN)
        if self.active and self.waiting and self.active.turn_id == self.waiting.turn_id:
            await self.promote(self.active)

    async def find(self, turn_id: str, session: Session | None) -> mf.TurnRecord | None:
        """The turn called *turn_id*, as its artifacts tell it now."""
        if not _is_name(turn_id):
            return None
        record = (await self._records()).get(turn_id) or await asyncio.to_thread(
            self._store.turn, self.agent, turn_id
        )
        if record is not None:
            return await asyncio.to_thread(artifacts.seen, record)
        if session is None:
            return None
        return self._kept(await asyncio.to_thread(self._other, session, turn_id))

    async def running(self, session: Session | None) -> mf.TurnRecord | None:
        """The turn that is active now, whoever started it; else the one that waits to begin."""
        for ours in (self.active, self.waiting):
            now = ours and await asyncio.to_thread(artifacts.seen, ours)
            if now and not now.is_final:
                return now
        return None if session is None else await self.of_others(session)

    async def of_others(self, session: Session) -> mf.TurnRecord | None:
        """The turn that runs in the session now, if the server has no record of it."""
        turn = await asyncio.to_thread(runner.active, session.turns_root)
        if turn is None or turn.turn_id in await self._records():
            return None
        return await asyncio.to_thread(self._other, session, turn.turn_id)

    async def newest(self, session: Session | None, limit: int) -> list[mf.TurnRecord]:
        """The *limit* newest turns, newest first."""
        recorded = dict(await self._records())
        kept = _newest(recorded.values(), limit)
        ours = await asyncio.to_thread(lambda: [artifacts.seen(one) for one in kept])
        others = []
        if session is not None:
            others = await asyncio.to_thread(self._unrecorded, session, recorded, limit)
        for one in others:
            self._kept(one)
        return _newest([*ours, *others], limit)

    def _unfinished(self, mark: Mark) -> mf.TurnRecord | None:
        marked = self._store.marked(self.agent, mark)
        record = self._store.turn(self.agent, marked.turn_id) if marked else None
        if record is not None and not record.is_final:
            return record
        # That server was killed before the record, when nobody knew of the turn, or after its last word.
        self._store.clear(self.agent, mark)
        return None

    def _mark_of(self, record: mf.TurnRecord) -> Mark:
        is_waiting = self.waiting is not None and self.waiting.turn_id == record.turn_id
        return mf.WAITING_TURN if is_waiting else mf.ACTIVE_TURN

    def _forget(self, record: mf.TurnRecord) -> None:
        if self.waiting is not None and self.waiting.turn_id == record.turn_id:
            self.waiting = None
        elif self.active is not None and self.active.turn_id == record.turn_id:
            self.active = None

    def _unrecorded(self, session: Session, recorded: Collection[str], limit: int) -> list[mf.TurnRecord]:
        """The newest turns that others started; called in a thread."""
        names = _folders(session.turns_root, recorded, limit)
        return [one for name in names if (one := self._other(session, name)) is not None]

    def _other(self, session: Session, turn_id: str) -> mf.TurnRecord | None:
        """A turn that was not recorded here; called in a thread."""
        if (known := self._others.get(turn_id)) is not None:
            return known
        try:
            return artifacts.found(self.agent, session, Turn(session.turns_root / turn_id))
        except TurnNotFound:
            return None

    def _kept(self, record: mf.TurnRecord | None) -> mf.TurnRecord | None:
        """*record*, remembered if it is over."""
        if record is not None and record.is_final:
            self._others[record.turn_id] = record
            while len(self._others) > MAX_KEPT:
                self._others.pop(next(iter(self._others)))
        return record

    async def _put(
        self, write: Callable[[mf.TurnRecord, Mark], None], record: mf.TurnRecord, mark: Mark
    ) -> None:
        records = await self._records()
        await asyncio.to_thread(write, record, mark)
        records[record.turn_id] = record
        while len(records) > MAX_KEPT:
            records.pop(next(iter(records)))

    async def _records(self) -> dict[str, mf.TurnRecord]:
        """The newest records, oldest first."""
        async with self._loading:
            if self._recorded is None:
                read = _newest(await asyncio.to_thread(self._store.turns, self.agent), MAX_KEPT)
                self._recorded = {record.turn_id: record for record in reversed(read)}
        return self._recorded


def _newest(records: Iterable[mf.TurnRecord], limit: int) -> list[mf.TurnRecord]:
    return sorted(records, key=lambda record: (record.started_at_utc, record.turn_id), reverse=True)[:limit]


def _folders(turns_root: Path, known: Collection[str], limit: int) -> list[str]:
    """The newest folders of turns that are not *known*."""
    found = [
        (order.stat().st_mtime, order.parent.name)
        for order in turns_root.glob("[!.]*/order.json")
        if order.parent.name not in known
    ]
    return [name for _, name in sorted(found, reverse=True)[:limit]]


def _is_name(turn_id: str) -> bool:
    is_component = not turn_id.startswith(".") and "/" not in turn_id and "\0" not in turn_id
    return is_component and len(turn_id.encode(errors="replace")) <= _MAX_NAME_BYTES
