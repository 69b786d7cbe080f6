"""One gateway's events, told on in the server's journal."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from posthouse.clients.events import Heard, StreamBroken
from posthouse.clients.following import events_of
from posthouse.coordination.following.bookmarks import HEARD_AS, Bookmarks
from posthouse.coordination.member import Member
from posthouse.events.journal import Journal

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every tap is given."""

    journal: Journal
    bookmarks: Bookmarks
    #: The port of the agent's live gateway; None when it has none.
    port_of: Callable[[Member], Awaitable[int | None]]


class Tap:
    """Follows the gateway of one agent, over its restarts, until it is retired or cancelled.

    *is_late*: what happened before the tap was opened is told as late. *is_new*: the agent is, so that
    everything its gateway ever told is news; otherwise one of whom nothing was heard begins with now.
    """

    def __init__(self, member: Member, around: Surroundings, *, is_late: bool, is_new: bool) -> None:
        #: Set when everything that happens from now on will be told, as far as that is possible.
        self.placed = asyncio.Event()
        self._member = member
        self._around = around
        self._is_late = is_late
        self._is_new = is_new
        self._late_until = 0
        self._is_retired = False
        self._wake = asyncio.Event()

    def look(self, member: Member) -> None:
        """Something about the agent changed: its gateway may be there again."""
        self._member = member
        self._wake.set()

    def retire(self) -> None:
        """The gateway is being taken away: hear it out, and look for no other."""
        self._is_retired = True
        self._wake.set()

    async def run(self) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while not self._is_retired:
            self._wake.clear()
            try:
                if await self._follow():
                    pause_seconds = _FIRST_PAUSE_SECONDS
            except StreamBroken:
                pass  # it ended, or is about to: the next look tells
            finally:
                self.placed.set()
            await self._pause(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _follow(self) -> bool:
        """Tell until the stream ends. False: there is no gateway."""
        port = await self._around.port_of(self._member)
        if port is None:
            return False
        since = await self._beginning(port)
        self.placed.set()
        async with events_of(port, since=since) as stream:
            async for heard in stream:
                if heard is not None:
                    self._tell(heard)
                if stream.last_id is not None:
                    self._around.bookmarks.put(self._member.tracked_agent_id, stream.last_id)
        return True

    async def _beginning(self, port: int) -> str:
        """Where to go on. Of a gateway that was never heard, the journal says where that is."""
        agent_id, bookmarks = self._member.tracked_agent_id, self._around.bookmarks
        known = bookmarks.get(agent_id)
        if known is None and self._is_new:
            return "start"
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
