"""What a reader of `GET /v1/events` may ask."""

from typing import Annotated

from pydantic import Field, StringConstraints

from posthouse.contracts.gateway_http import Query

#: Of an id, more than any has.
MAX_SINCE = 64
_KIND = "[a-z][a-z0-9_]{0,63}"
KINDS = f"^{_KIND}(,{_KIND}){{0,63}}$"


class EventsQuery(Query):
    #: Only these kinds, with commas between them.
    kinds: Annotated[str, StringConstraints(pattern=KINDS)] | None = None
    #: The id of the last event that is known already, or `start` for everything that is kept.
    since: Annotated[str, Field(max_length=MAX_SINCE)] | None = None
    #: Whether to stay for what happens; otherwise the answer ends with what there is.
    follow: bool = True
