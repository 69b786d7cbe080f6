"""The route of events."""

from posthouse.contracts.gateway_events_http import EventsQuery
from posthouse.events.event import Position
from posthouse.events.reader import OLDEST
from posthouse.gateway.service import Gateway
from posthouse.web.event_stream import MEDIA_TYPE, EventStream, Wish
from posthouse.web.route import Addressed, Route

_LAST = "last-event-id"


async def events(gateway: Gateway, asked: Addressed) -> EventStream:
    """The events of *gateway*, as server-sent events.

    Raises:
        BadPosition: The place to begin at is none.
        TooManyReaders: No more are served.
    """
    wish = _wish(asked.body, asked.headers.get(_LAST))
    audience = gateway.operations.audience
    audience.check_room()
    return EventStream(audience, wish)


def _wish(query: EventsQuery, last_id: str | None) -> Wish:
    # A browser that comes back repeats its first query; what it saw since counts more.
    since = last_id or query.since
    kinds = None if query.kinds is None else frozenset(query.kinds.split(","))
    return Wish(
        after=OLDEST if since == "start" else Position.parse(since) if since else None,
        wants=lambda event: kinds is None or event.kind in kinds,
        follow=query.follow,
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/events",
        summary="What happens, as it happens: server-sent events that can be resumed by id.",
        handler=events,
        response=None,
        media_type=MEDIA_TYPE,
        query=EventsQuery,
        headers={_LAST: "The id of the last event that was seen; the stream goes on after it."},
        refusals={503: "Too many readers follow already."},
    ),
)
