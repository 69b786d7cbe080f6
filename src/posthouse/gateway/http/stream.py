"""The event stream route."""

from posthouse.contracts.gateway_events_http import EventsQuery
from posthouse.events.event import Position
from posthouse.events.reader import OLDEST
from posthouse.gateway.service import Gateway
from posthouse.web.event_stream import MEDIA_TYPE, EventStream, StreamOptions
from posthouse.web.route import Route, RouteInput

_LAST_EVENT_ID = "last-event-id"


async def events(gateway: Gateway, http: RouteInput) -> EventStream:
    """The events of *gateway*, as server-sent events.

    Raises:
        BadPosition: The start position is invalid.
        Unavailable: Too many readers.
    """
    options = _options(http.body, http.headers.get(_LAST_EVENT_ID))
    readers = gateway.operations.readers
    readers.check_capacity()
    return EventStream(readers, options)


def _options(query: EventsQuery, last_id: str | None) -> StreamOptions:
    # A browser that reconnects repeats its first query; its last event id takes precedence.
    since = last_id or query.since
    kinds = None if query.kinds is None else frozenset(query.kinds.split(","))
    return StreamOptions(
        after=OLDEST if since == "start" else Position.parse(since) if since else None,
        matches=lambda event: kinds is None or event.kind in kinds,
        follow=query.follow,
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/events",
        summary="Live events of the gateway: server-sent events that can be resumed by id.",
        handler=events,
        response=None,
        media_type=MEDIA_TYPE,
        query=EventsQuery,
        headers={_LAST_EVENT_ID: "The id of the last event received; the stream continues after it."},
        refusals={503: "Too many readers."},
    ),
)
