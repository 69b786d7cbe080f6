"""The route of all agents' events."""

from dataclasses import dataclass

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.server_events_http import ServerEventsQuery
from posthouse.events.event import Event, Position
from posthouse.events.reader import OLDEST
from posthouse.server.service import Coordination
from posthouse.web.event_stream import MEDIA_TYPE, EventStream, Wish
from posthouse.web.route import Addressed, Route

_LAST = "last-event-id"
_GAP = "gap"


async def server_events(server: Coordination, asked: Addressed) -> EventStream:
    """What happens, to the agents that were asked for.

    Raises:
        BadPosition: The place to begin at is none.
        UnknownAgent, AmbiguousAgent: Nobody, or several, answer to a name.
        TooManyReaders: No more are served.
    """
    query: ServerEventsQuery = asked.body
    since = asked.headers.get(_LAST) or query.since
    refs = [] if query.agent is None else query.agent.split(",")
    agents = frozenset(server.member(ref).tracked_agent_id for ref in refs) or None
    server.operations.audience.check_room()
    # A reader from now on stands here before gateways are listened to: it misses nothing that they say.
    now = Position(number=server.journal.last_number, check=None)
    after = now if not since else OLDEST if since == "start" else Position.parse(since)
    wants = Wanted(agents=agents, kinds=_kinds(query), late=bool(since))
    wish = Wish(after=after, wants=wants, follow=query.follow)
    if not query.follow:
        return EventStream(server.operations.audience, wish)
    listener = await server.operations.hub.admit(agents)
    return EventStream(server.operations.audience, wish, on_end=lambda: server.operations.hub.leave(listener))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events one reader is told."""

    #: None: of everybody, and the server's own.
    agents: frozenset[str] | None
    #: None: every kind. Gaps are told whatever was asked for.
    kinds: frozenset[str] | None
    #: Whether also what happened in a gateway before anybody listened.
    late: bool

    def __call__(self, event: Event) -> bool:
        if event.kind == _GAP:
            return self._is_of(event.fields.get("agent_id"), nobody=True)
        if self.kinds is not None and event.kind not in self.kinds:
            return False
        is_of = self._is_of(event.fields.get("agent_id"), nobody=False)
        return is_of and (self.late or "late" not in event.fields)

    def _is_of(self, agent_id: object, *, nobody: bool) -> bool:
        """Whether that agent was asked for; *nobody*: also when it is about none in particular."""
        return self.agents is None or agent_id in self.agents or (nobody and agent_id is None)


def _kinds(query: ServerEventsQuery) -> frozenset[str] | None:
    return None if query.kind is None else frozenset(query.kind.split(","))


ROUTES = (
    Route(
        method="GET",
        path="/houmao/events",
        summary="What happens to all agents, as it happens: server-sent events that can be resumed by id.",
        handler=server_events,
        response=None,
        media_type=MEDIA_TYPE,
        query=ServerEventsQuery,
        headers={_LAST: "The id of the last event that was seen; the stream goes on after it."},
        refusals={
            404: "No agent answers to a name.",
            409: "More than one does; `agent_ids` says which.",
            503: "Too many readers follow already.",
        },
        refusal=wire.Ambiguous,
    ),
)
