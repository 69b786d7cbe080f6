"""Relays the events of one gateway into the server's journal."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from posthouse.clients.async_events import open_events
from posthouse.clients.events import ReceivedEvent, StreamBroken
from posthouse.contracts import gateway_files as gf
from posthouse.events import history
from posthouse.events.event import Position
from posthouse.events.journal import Journal
from posthouse.server.event_relay.bookmarks import SOURCE_ID, Positions
from posthouse.server.gateways import gateway_root
from posthouse.server.member import Member

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0
#: The position before the oldest event that a gateway keeps.
FROM_THE_START = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayContext:
    """Shared dependencies of all subscriptions."""

    journal: Journal
    positions: Positions
    #: The port of the agent's live gateway; None when it has none.
    port_of: Callable[[Member], Awaitable[int | None]]


class Subscription:
    """Follows the gateway of one agent, whenever it has one, until it is retired or cancelled.

    *is_late*: events from before the subscription opened are marked `late`.
    """

    def __init__(self, member: Member, context: RelayContext, *, is_late: bool) -> None:
        #: Set when the position is known, so that all later events are relayed, or after a failed attempt.
        self.is_positioned = asyncio.Event()
        self.is_listening = False
        self._member = member
        self._context = context
        self._is_late = is_late
        self._late_until = 0
        self._is_retired = False
        self._wake = asyncio.Event()

    def update(self, member: Member) -> None:
        """The agent changed: its gateway may have started."""
        self._member = member
        self._wake.set()

    def retire(self) -> None:
        """The agent was removed: drain its gateway's stream, and connect to no other."""
        self._is_retired = True
        self._wake.set()

    async def run(self) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while not self._is_retired:
            self._wake.clear()
            try:
                if await self._follow():
                    pause_seconds = _FIRST_PAUSE_SECONDS
            except (StreamBroken, OSError):
                pass  # it ended or is ending; the next attempt shows which
            finally:
                self.is_listening = False
                self.is_positioned.set()
            await self._pause(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Wait for a change of the agent; with a recorded gateway at most *seconds*."""
        try:
            async with asyncio.timeout(None if self._member.record.gateway is None else seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _follow(self) -> bool:
        """Relay until the stream ends. False: there is no gateway."""
        port = None if self._member.record.gateway is None else await self._context.port_of(self._member)
        if port is None:
            await self._position_at_end()
            return False
        async with open_events(port, since=await self._resume_position(port)) as stream:
            self.is_listening = True
            self.is_positioned.set()
            async for event in stream:
                if event is not None:
                    self._relay(event)
                if stream.last_id is not None:
                    self._context.positions.put(self._member.tracked_agent_id, stream.last_id)
                # A long backlog arrives at once: yield so that the readers keep up.
                await asyncio.sleep(0)
        return True

    async def _position_at_end(self) -> None:
        """Without a position and a running gateway: relay the next gateway from its first event."""
        agent_id, positions = self._member.tracked_agent_id, self._context.positions
        if positions.get(agent_id) is None:
            lines = await asyncio.to_thread(history.line_count, gateway_root(self._member) / gf.EVENTS)
            positions.put(agent_id, str(Position(number=lines, check=None)))

    async def _resume_position(self, port: int) -> str:
        """The position to resume from. For a gateway without one, it is recorded in the journal first."""
        agent_id, positions = self._member.tracked_agent_id, self._context.positions
        known = positions.get(agent_id)
        if known is not None and (self.is_positioned.is_set() or not self._is_late):
            return known
        async with open_events(port, since=None, follow=False) as stream:
            position = await stream.start_position()
        if known is None:
            positions.put(agent_id, position)
            self._context.journal.add("gateway_followed", **{"agent_id": agent_id, SOURCE_ID: position})
            return position
        self._late_until = _number(position)
        return known

    def _relay(self, event: ReceivedEvent) -> None:
        fields = {name: value for name, value in event.fields.items() if name != "kind"}
        late = {"late": True} if _number(event.event_id) <= self._late_until else {}
        source = {"agent_id": self._member.tracked_agent_id, SOURCE_ID: event.event_id}
        self._context.journal.add(event.kind or "unknown", **{**fields, **late, **source})


def _number(event_id: str) -> int:
    digits = event_id.partition("-")[0]
    return int(digits) if digits.isdecimal() else 0
