"""The event stream of all agents."""

from dataclasses import dataclass

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.server_events_http import ServerEventsQuery
from posthouse.events.event import Event, Position
from posthouse.events.reader import OLDEST
from posthouse.server.service import ServerService
from posthouse.web.event_stream import MEDIA_TYPE, EventStream, StreamOptions
from posthouse.web.route import Route, RouteInput

_LAST = "last-event-id"
_GAP = "gap"


async def server_events(server: ServerService, inputs: RouteInput) -> EventStream:
    """The events of the requested agents.

    Raises:
        BadPosition: The start position is invalid.
        UnknownAgent, AmbiguousAgent: No agent, or several, match a name.
        Unavailable: Too many readers.
    """
    query: ServerEventsQuery = inputs.body
    since = inputs.headers.get(_LAST) or query.since
    refs = [] if query.agent is None else query.agent.split(",")
    agents = frozenset(server.member(ref).tracked_agent_id for ref in refs) or None
    server.operations.event_readers.check_capacity()
    # Take the position before subscribing to gateways, so that the reader misses none of their events.
    now = Position(number=server.journal.last_number, check=None)
    after = now if not since else OLDEST if since == "start" else Position.parse(since)
    event_filter = EventFilter(agents=agents, kinds=_kinds(query), late=bool(since))
    options = StreamOptions(after=after, matches=event_filter, follow=query.follow)
    if not query.follow:
        return EventStream(server.operations.event_readers, options)
    subscriber = await server.operations.hub.join(agents)
    return EventStream(
        server.operations.event_readers, options, on_end=lambda: server.operations.hub.leave(subscriber)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Selects the events for one reader."""

    #: None: all agents, and the server's own events.
    agents: frozenset[str] | None
    #: None: every kind. Gaps always pass.
    kinds: frozenset[str] | None
    #: Whether events marked `late` pass.
    late: bool

    def __call__(self, event: Event) -> bool:
        if event.kind == _GAP:
            return self._is_of(event.fields.get("agent_id"), include_global=True)
        if self.kinds is not None and event.kind not in self.kinds:
            return False
        is_of = self._is_of(event.fields.get("agent_id"), include_global=False)
        return is_of and (self.late or "late" not in event.fields)

    def _is_of(self, agent_id: object, *, include_global: bool) -> bool:
        """Whether the agent was requested; with *include_global*, events without an agent match too."""
        return self.agents is None or agent_id in self.agents or (include_global and agent_id is None)


def _kinds(query: ServerEventsQuery) -> frozenset[str] | None:
    return None if query.kind is None else frozenset(query.kind.split(","))


ROUTES = (
    Route(
        method="GET",
        path="/houmao/events",
        summary="Events of all agents as server-sent events, resumable by id.",
        handler=server_events,
        response=None,
        media_type=MEDIA_TYPE,
        query=ServerEventsQuery,
        headers={_LAST: "The id of the last received event; the stream resumes after it."},
        refusals={
            404: "No agent has that name.",
            409: "Several agents have that name; `agent_ids` lists them.",
            503: "Too many readers.",
        },
        refusal=wire.Ambiguous,
    ),
)
