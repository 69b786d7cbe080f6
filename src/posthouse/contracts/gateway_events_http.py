"""Query parameters of `GET /v1/events`."""

from typing import Annotated

from pydantic import Field, StringConstraints

from posthouse.contracts.gateway_http import Query

#: Longer than any event id.
MAX_SINCE = 64
_KIND = "[a-z][a-z0-9_]{0,63}"
KINDS = f"^{_KIND}(,{_KIND}){{0,63}}$"


class EventsQuery(Query):
    #: Only these kinds, comma-separated.
    kinds: Annotated[str, StringConstraints(pattern=KINDS)] | None = None
    #: The last event id already received, or `start` for the whole history.
    since: Annotated[str, Field(max_length=MAX_SINCE)] | None = None
    #: Keep the stream open for new events; otherwise it ends after the existing ones.
    follow: bool = True
