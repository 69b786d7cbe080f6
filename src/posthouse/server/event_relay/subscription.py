"""One gateway's events, told on in the server's journal."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from posthouse.clients.async_events import events_of
from posthouse.clients.events import Heard, StreamBroken
from posthouse.contracts import gateway_files as gf
from posthouse.events import history
from posthouse.events.event import Position
from posthouse.events.journal import Journal
from posthouse.server.event_relay.bookmarks import HEARD_AS, Bookmarks
from posthouse.server.gateways import root_of
from posthouse.server.member import Member

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0
#: As a place: before everything that a gateway keeps.
FROM_THE_START = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every tap is given."""

    journal: Journal
    bookmarks: Bookmarks
    #: The port of the agent's live gateway; None when it has none.
    port_of: Callable[[Member], Awaitable[int | None]]


class Tap:
    """Follows the gateway of one agent, whenever there is one, until it is retired or cancelled.

    *is_late*: what happened before the tap was opened is told as late.
    """

    def __init__(self, member: Member, around: Surroundings, *, is_late: bool) -> None:
        #: Set when everything that happens from now on will be told, as far as that is possible.
        self.placed = asyncio.Event()
        self.is_listening = False
        self._member = member
        self._around = around
        self._is_late = is_late
        self._late_until = 0
        self._is_retired = False
        self._wake = asyncio.Event()

    def look(self, member: Member) -> None:
        """Something about the agent changed: its gateway may have come."""
        self._member = member
        self._wake.set()

    def retire(self) -> None:
        """The agent is forgotten: hear its gateway out, and look for no other."""
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
                pass  # it ended, or is about to: the next look tells
            finally:
                self.is_listening = False
                self.placed.set()
            await self._pause(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Wait until there is a reason to look again; a gateway that should be there is one by itself."""
        try:
            async with asyncio.timeout(None if self._member.record.gateway is None else seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _follow(self) -> bool:
        """Tell until the stream ends. False: there is no gateway."""
        port = None if self._member.record.gateway is None else await self._around.port_of(self._member)
        if port is None:
            await self._wait_at_the_end()
            return False
        async with events_of(port, since=await self._beginning(port)) as stream:
            self.is_listening = True
            self.placed.set()
            async for heard in stream:
                if heard is not None:
                    self._tell(heard)
                if stream.last_id is not None:
                    self._around.bookmarks.put(self._member.tracked_agent_id, stream.last_id)
                # A long past comes at once: those who read along must not fall behind for it.
                await asyncio.sleep(0)
        return True

    async def _wait_at_the_end(self) -> None:
        """Nothing was heard yet and no gateway writes: the next one is told from its first event on."""
        agent_id, bookmarks = self._member.tracked_agent_id, self._around.bookmarks
        if bookmarks.get(agent_id) is None:
            lines = await asyncio.to_thread(history.line_count, root_of(self._member) / gf.EVENTS)
            bookmarks.put(agent_id, str(Position(number=lines, check=None)))

    async def _beginning(self, port: int) -> str:
        """Where to go on. Of a gateway that was never heard, the journal says where that is."""
        agent_id, bookmarks = self._member.tracked_agent_id, self._around.bookmarks
        known = bookmarks.get(agent_id)
        if known is not None and (self.placed.is_set() or not self._is_late):
            return known
        async with events_of(port, since=None, follow=False) as stream:
            place = await stream.place()
        if known is None:
            bookmarks.put(agent_id, place)
            self._around.journal.add("gateway_followed", **{"agent_id": agent_id, HEARD_AS: place})
            return place
        self._late_until = _number(place)
        return known

    def _tell(self, heard: Heard) -> None:
        fields = {name: value for name, value in heard.fields.items() if name != "kind"}
        late = {"late": True} if _number(heard.event_id) <= self._late_until else {}
        who = {"agent_id": self._member.tracked_agent_id, HEARD_AS: heard.event_id}
        self._around.journal.add(heard.kind or "unknown", **{**fields, **late, **who})


def _number(event_id: str) -> int:
    digits = event_id.partition("-")[0]
    return int(digits) if digits.isdecimal() else 0
