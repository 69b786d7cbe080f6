"""What a reader of `GET /houmao/events` may ask; ours."""

from typing import Annotated

from pydantic import Field, StringConstraints

from posthouse.contracts.gateway_events_http import KINDS, MAX_SINCE
from posthouse.contracts.gateway_http import Query

_MAX_AGENTS = 8000


class ServerEventsQuery(Query):
    #: Only events of these agents, by any of their names, with commas between them.
    agent: Annotated[str, Field(min_length=1, max_length=_MAX_AGENTS)] | None = None
    #: Only these kinds, with commas between them.
    kind: Annotated[str, StringConstraints(pattern=KINDS)] | None = None
    #: The id of the last event that is known already, or `start` for everything that is kept.
    since: Annotated[str, Field(max_length=MAX_SINCE)] | None = None
    #: Whether to stay for what happens; otherwise the answer ends with what there is.
    follow: bool = True
