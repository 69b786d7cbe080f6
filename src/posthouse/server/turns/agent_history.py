"""All turns of one agent: recorded by this server, or found in the session's folder.

Records are cached in memory; turns that have not ended are read from their artifacts on each call.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from posthouse.contracts import managed_agent_files as mf
from posthouse.server.turns import artifacts
from posthouse.server.turns.store import Mark, TurnStore
from posthouse.sessions.session import Session
from posthouse.turns import runner
from posthouse.turns.turn import Turn, TurnNotFound

#: Cache limit; above every limit of the API.
MAX_KEPT = 500
#: Limit for the name of a folder, and of a record with its suffix.
_MAX_NAME_BYTES = 200


class AgentHistory:
    """One agent's turns. Writers hold the agent's lock; readers need none."""

    def __init__(self, agent: str, store: TurnStore) -> None:
        self.agent = agent
        #: The server's running turn; other processes may have started turns too.
        self.active: mf.TurnRecord | None = None
        #: The turn that a gateway has accepted and not started.
        self.waiting: mf.TurnRecord | None = None
        self._store = store
        self._recorded: dict[str, mf.TurnRecord] | None = None
        #: Ended turns of other processes: their artifacts no longer change.
        self._unrecorded_turns: dict[str, mf.TurnRecord] = {}
        self._loading = asyncio.Lock()

    async def begin(self, record: mf.TurnRecord) -> None:
        """Record a turn that is about to start. Durable when this returns."""
        await self._put(self._store.begin, record, mf.ACTIVE_TURN)
        self.active = record

    async def wait(self, record: mf.TurnRecord) -> None:
        """Record a turn that waits at its gateway. Durable when this returns."""
        await self._put(self._store.begin, record, mf.WAITING_TURN)
        self.waiting = record

    async def promote(self, record: mf.TurnRecord) -> None:
        """Make the waiting turn the active one. A crash in between leaves both marks."""
        await self.mark(record)
        await asyncio.to_thread(self._store.clear, self.agent, mf.WAITING_TURN)
        self.waiting = None

    async def mark(self, record: mf.TurnRecord) -> None:
        """Write the mark of the active turn."""
        await asyncio.to_thread(self._store.mark, record, mf.ACTIVE_TURN)
        self.active = record

    async def end(self, record: mf.TurnRecord) -> None:
        """Record the outcome of the active or the waiting turn."""
        await self._put(self._store.end, record, self._mark_of(record))
        self._clear(record)

    async def drop(self, record: mf.TurnRecord) -> None:
        """Delete a turn that was never accepted.

        If its files can't be removed, the next server finds them and ends the turn as never started.
        """
        mark = self._mark_of(record)
        (await self._records()).pop(record.turn_id, None)
        self._clear(record)
        await asyncio.to_thread(self._store.drop, record, mark)

    async def recover(self) -> None:
        """Load the turns that an earlier server left unfinished."""
        self.active = await asyncio.to_thread(self._unfinished, mf.ACTIVE_TURN)
        self.waiting = await asyncio.to_thread(self._unfinished, mf.WAITING_TURN)
        if self.active and self.waiting and self.active.turn_id == self.waiting.turn_id:
            await self.promote(self.active)

    async def find(self, turn_id: str, session: Session | None) -> mf.TurnRecord | None:
        """The turn *turn_id*, updated from its artifacts."""
        if not _is_name(turn_id):
            return None
        record = (await self._records()).get(turn_id) or await asyncio.to_thread(
            self._store.turn, self.agent, turn_id
        )
        if record is not None:
            return await asyncio.to_thread(artifacts.refresh, record)
        if session is None:
            return None
        return self._cache_if_final(await asyncio.to_thread(self._unrecorded_turn, session, turn_id))

    async def running(self, session: Session | None) -> mf.TurnRecord | None:
        """The active turn of any process, else the turn that waits at the gateway."""
        for own in (self.active, self.waiting):
            now = own and await asyncio.to_thread(artifacts.refresh, own)
            if now and not now.is_final:
                return now
        return None if session is None else await self.running_elsewhere(session)

    async def running_elsewhere(self, session: Session) -> mf.TurnRecord | None:
        """The running turn of the session if this server has no record of it."""
        turn = await asyncio.to_thread(runner.active, session.turns_root)
        if turn is None or turn.turn_id in await self._records():
            return None
        return await asyncio.to_thread(self._unrecorded_turn, session, turn.turn_id)

    async def newest(self, session: Session | None, limit: int) -> list[mf.TurnRecord]:
        """The *limit* newest turns, newest first."""
        recorded = dict(await self._records())
        kept = _newest(recorded.values(), limit)
        own = await asyncio.to_thread(lambda: [artifacts.refresh(one) for one in kept])
        unrecorded = []
        if session is not None:
            unrecorded = await asyncio.to_thread(self._newest_unrecorded, session, recorded, limit)
        for one in unrecorded:
            self._cache_if_final(one)
        return _newest([*own, *unrecorded], limit)

    def _unfinished(self, mark: Mark) -> mf.TurnRecord | None:
        marked = self._store.marked(self.agent, mark)
        record = self._store.turn(self.agent, marked.turn_id) if marked else None
        if record is not None and not record.is_final:
            return record
        # That server was killed before it wrote the record, or after it wrote the final one.
        self._store.clear(self.agent, mark)
        return None

    def _mark_of(self, record: mf.TurnRecord) -> Mark:
        is_waiting = self.waiting is not None and self.waiting.turn_id == record.turn_id
        return mf.WAITING_TURN if is_waiting else mf.ACTIVE_TURN

    def _clear(self, record: mf.TurnRecord) -> None:
        if self.waiting is not None and self.waiting.turn_id == record.turn_id:
            self.waiting = None
        elif self.active is not None and self.active.turn_id == record.turn_id:
            self.active = None

    def _newest_unrecorded(
        self, session: Session, recorded: Collection[str], limit: int
    ) -> list[mf.TurnRecord]:
        """The newest turns that other processes started; called in a thread."""
        names = _folders(session.turns_root, recorded, limit)
        return [one for name in names if (one := self._unrecorded_turn(session, name)) is not None]

    def _unrecorded_turn(self, session: Session, turn_id: str) -> mf.TurnRecord | None:
        """A turn without a record; called in a thread."""
        if (known := self._unrecorded_turns.get(turn_id)) is not None:
            return known
        try:
            return artifacts.unrecorded(self.agent, session, Turn(session.turns_root / turn_id))
        except TurnNotFound:
            return None

    def _cache_if_final(self, record: mf.TurnRecord | None) -> mf.TurnRecord | None:
        """Return *record*; cache it if the turn has ended."""
        if record is not None and record.is_final:
            self._unrecorded_turns[record.turn_id] = record
            while len(self._unrecorded_turns) > MAX_KEPT:
                self._unrecorded_turns.pop(next(iter(self._unrecorded_turns)))
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
    """The newest turn folders that are not in *known*."""
    found = [
        (order.stat().st_mtime, order.parent.name)
        for order in turns_root.glob("[!.]*/order.json")
        if order.parent.name not in known
    ]
    return [name for _, name in sorted(found, reverse=True)[:limit]]


def _is_name(turn_id: str) -> bool:
    is_component = not turn_id.startswith(".") and "/" not in turn_id and "\0" not in turn_id
    return is_component and len(turn_id.encode(errors="replace")) <= _MAX_NAME_BYTES
