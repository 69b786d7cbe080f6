"""Query parameters of `GET /houmao/events`; a posthouse extension."""

from typing import Annotated

from pydantic import Field, StringConstraints

from posthouse.contracts.gateway_events_http import KINDS, MAX_SINCE
from posthouse.contracts.gateway_http import Query

_MAX_AGENTS = 8000


class ServerEventsQuery(Query):
    #: Only events of these agents, by any of their names, comma-separated.
    agent: Annotated[str, Field(min_length=1, max_length=_MAX_AGENTS)] | None = None
    #: Only these kinds, comma-separated.
    kind: Annotated[str, StringConstraints(pattern=KINDS)] | None = None
    #: The last event id already received, or `start` for the whole history.
    since: Annotated[str, Field(max_length=MAX_SINCE)] | None = None
    #: Keep the stream open for new events; otherwise it ends after the existing ones.
    follow: bool = True
