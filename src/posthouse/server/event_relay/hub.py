"""Follows the event streams of gateways that the server's subscribers want."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from posthouse.events.journal import Journal
from posthouse.server.agent_index import AgentIndex
from posthouse.server.event_relay.bookmarks import Positions
from posthouse.server.event_relay.subscription import FROM_THE_START, RelayContext, Subscription
from posthouse.server.member import Member
from posthouse.support.supervision import Supervisor

#: Interval of saving positions; after a kill the journal is read from there on.
_SAVE_SECONDS = 30.0
#: Timeout for positioning at all gateways, so that a hung one does not block a subscriber.
_POSITION_SECONDS = 2.0
HISTORY_TRUNCATED = (
    "the server's journal lost its last lines, as in a power cut: events of gateways may be missing"
)


class Subscriber:
    """A subscriber of some agents or of all."""

    def __init__(self, agents: frozenset[str] | None) -> None:
        self.agents = agents


class EventHub:
    """The gateway subscriptions of one server."""

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
        self._positions = Positions(path, journal)
        self._context = RelayContext(journal=journal, positions=self._positions, port_of=port_of)
        self._log = log
        self._index = AgentIndex((), {})
        self._registered: frozenset[str] = frozenset()
        self._subscribers: set[Subscriber] = set()
        self._subscriptions: dict[str, tuple[Subscription, asyncio.Task[None]]] = {}
        self._draining: set[asyncio.Task[None]] = set()
        self._saving: asyncio.Task[None] | None = None
        self._cleanups: set[asyncio.Task[None]] = set()
        self._loading = asyncio.Lock()
        self._is_loaded = False

    @property
    def followed(self) -> int:
        """The number of gateways that are followed."""
        return sum(subscription.is_listening for subscription, _ in self._subscriptions.values())

    async def join(self, agents: frozenset[str] | None) -> Subscriber:
        """Add a subscriber until `leave`; new events of those gateways are relayed."""
        await self._load()
        subscriber = Subscriber(agents)
        self._subscribers.add(subscriber)
        if self._saving is None:
            self._saving = self._background.supervise(
                "positions in gateways' events", self._save_periodically
            )
        try:
            self._open_subscriptions(is_late=True)
            positioned = [
                asyncio.create_task(subscription.is_positioned.wait())
                for subscription, _ in self._subscriptions.values()
            ]
            if positioned:
                _, waiting = await asyncio.wait(positioned, timeout=_POSITION_SECONDS)
                for task in waiting:
                    task.cancel()
        except BaseException:
            self.leave(subscriber)
            raise
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        self._subscribers.discard(subscriber)
        for agent_id in [agent_id for agent_id in self._subscriptions if not self._is_wanted(agent_id)]:
            self._subscriptions.pop(agent_id)[1].cancel()
        if not self._subscribers:
            self._wind_down()

    def update(self, index: AgentIndex) -> None:
        """Follow new agents from their first event; drain the streams of removed ones."""
        known, self._index = self._registered, index
        members = {member.tracked_agent_id: member for member in index.members}
        self._registered = frozenset(members)
        if not self._subscribers:
            return
        for agent_id, (subscription, task) in [*self._subscriptions.items()]:
            if agent_id in members:
                subscription.update(members[agent_id])
            else:
                self._drain(agent_id, subscription, task)
        for agent_id in self._registered - known:
            if self._positions.get(agent_id) is None:
                self._positions.put(agent_id, FROM_THE_START)
        self._open_subscriptions(is_late=False)

    async def close(self) -> None:
        """Stop all subscriptions and save the positions."""
        self._subscribers.clear()
        tasks = [task for _, task in self._subscriptions.values()]
        self._wind_down()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._cleanups, return_exceptions=True)

    def _wind_down(self) -> None:
        """After the last subscriber: stop draining, and save the positions."""
        for task in self._draining:
            task.cancel()
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        self._spawn(self._save())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._background.spawn(work)
        self._cleanups.add(task)
        task.add_done_callback(self._cleanups.discard)

    def _open_subscriptions(self, *, is_late: bool) -> None:
        for member in self._index.members:
            agent_id = member.tracked_agent_id
            if agent_id not in self._subscriptions and self._is_wanted(agent_id):
                subscription = Subscription(member, self._context, is_late=is_late)
                self._subscriptions[agent_id] = (
                    subscription,
                    self._background.supervise(f"events of agent {agent_id}", subscription.run),
                )

    def _drain(self, agent_id: str, subscription: Subscription, task: asyncio.Task[None]) -> None:
        del self._subscriptions[agent_id]
        subscription.retire()
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    def _is_wanted(self, agent_id: str) -> bool:
        return any(one.agents is None or agent_id in one.agents for one in self._subscribers)

    async def _load(self) -> None:
        async with self._loading:
            if self._is_loaded:
                return
            if not await asyncio.to_thread(self._positions.load):
                self._journal.add("gap", missing=None, reason=HISTORY_TRUNCATED)
            self._is_loaded = True

    async def _save_periodically(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_SECONDS)
            await self._save()

    async def _save(self) -> None:
        try:
            await asyncio.to_thread(self._positions.save)
        except OSError as error:
            self._log.warning("gateway event positions can't be saved", extra={"error": str(error)})
