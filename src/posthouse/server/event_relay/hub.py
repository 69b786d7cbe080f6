"""Listens to gateways while somebody listens to the server, and to no other."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from posthouse.events.journal import Journal
from posthouse.server.agent_index import Roster
from posthouse.server.event_relay.bookmarks import Bookmarks
from posthouse.server.event_relay.subscription import FROM_THE_START, Surroundings, Tap
from posthouse.server.member import Member
from posthouse.support.supervision import Supervisor

#: What was heard is written down this often; after a kill the journal is read from there on.
_SAVE_SECONDS = 30.0
#: A gateway that does not answer keeps nobody waiting longer.
_PLACE_SECONDS = 2.0
BROKE_OFF = "the server's history broke off, as in a power cut: events of gateways may be missing"


class Listener:
    """Somebody who listens, to some agents or to all."""

    def __init__(self, agents: frozenset[str] | None) -> None:
        self.agents = agents


class Hub:
    """The taps of one server."""

    def __init__(
        self,
        journal: Journal,
        path: Path,
        port_of: Callable[[Member], Awaitable[int | None]],
        log: logging.Logger,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self._journal = journal
        self._bookmarks = Bookmarks(path, journal)
        self._around = Surroundings(journal=journal, bookmarks=self._bookmarks, port_of=port_of)
        self._log = log
        self._roster = Roster((), {})
        self._registered: frozenset[str] = frozenset()
        self._listeners: set[Listener] = set()
        self._taps: dict[str, tuple[Tap, asyncio.Task[None]]] = {}
        self._parting: set[asyncio.Task[None]] = set()
        self._saving: asyncio.Task[None] | None = None
        self._resting: set[asyncio.Task[None]] = set()
        self._loading = asyncio.Lock()
        self._is_loaded = False

    @property
    def followed(self) -> int:
        """How many gateways are listened to."""
        return sum(tap.is_listening for tap, _ in self._taps.values())

    async def admit(self, agents: frozenset[str] | None) -> Listener:
        """Somebody who listens until `leave`: what happens in those gateways from now on is told."""
        await self._load()
        listener = Listener(agents)
        self._listeners.add(listener)
        if self._saving is None:
            self._saving = self._background.keep("places in gateways' events", self._save_now_and_then)
        try:
            self._open_taps(is_late=True)
            placed = [asyncio.create_task(tap.placed.wait()) for tap, _ in self._taps.values()]
            if placed:
                _, waiting = await asyncio.wait(placed, timeout=_PLACE_SECONDS)
                for task in waiting:
                    task.cancel()
        except BaseException:
            self.leave(listener)
            raise
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        for agent_id in [agent_id for agent_id in self._taps if not self._is_wanted(agent_id)]:
            self._taps.pop(agent_id)[1].cancel()
        if not self._listeners:
            self._rest()

    def look(self, roster: Roster) -> None:
        """Agents changed: follow those that are new from their beginning, and hear out those that go."""
        known, self._roster = self._registered, roster
        members = {member.tracked_agent_id: member for member in roster.members}
        self._registered = frozenset(members)
        if not self._listeners:
            return
        for agent_id, (tap, task) in [*self._taps.items()]:
            if agent_id in members:
                tap.look(members[agent_id])
            else:
                self._part(agent_id, tap, task)
        for agent_id in self._registered - known:
            if self._bookmarks.get(agent_id) is None:
                self._bookmarks.put(agent_id, FROM_THE_START)
        self._open_taps(is_late=False)

    async def close(self) -> None:
        """Listen to nobody any more; what was heard is written down."""
        self._listeners.clear()
        tasks = [task for _, task in self._taps.values()]
        self._rest()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._resting, return_exceptions=True)

    def _rest(self) -> None:
        """Nobody listens: leave those that part, and write down what was heard."""
        for task in self._parting:
            task.cancel()
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        self._spawn(self._save())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._background.spawn(work)
        self._resting.add(task)
        task.add_done_callback(self._resting.discard)

    def _open_taps(self, *, is_late: bool) -> None:
        for member in self._roster.members:
            agent_id = member.tracked_agent_id
            if agent_id not in self._taps and self._is_wanted(agent_id):
                tap = Tap(member, self._around, is_late=is_late)
                self._taps[agent_id] = (tap, self._background.keep(f"events of agent {agent_id}", tap.run))

    def _part(self, agent_id: str, tap: Tap, task: asyncio.Task[None]) -> None:
        del self._taps[agent_id]
        tap.retire()
        self._parting.add(task)
        task.add_done_callback(self._parting.discard)

    def _is_wanted(self, agent_id: str) -> bool:
        return any(one.agents is None or agent_id in one.agents for one in self._listeners)

    async def _load(self) -> None:
        async with self._loading:
            if self._is_loaded:
                return
            if not await asyncio.to_thread(self._bookmarks.load):
                self._journal.add("gap", missing=None, reason=BROKE_OFF)
            self._is_loaded = True

    async def _save_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_SECONDS)
            await self._save()

    async def _save(self) -> None:
        try:
            await asyncio.to_thread(self._bookmarks.save)
        except OSError as error:
            self._log.warning("how far gateways were heard can't be written", extra={"error": str(error)})
