"""What one route is; the tables of routes are made of it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter

from posthouse.contracts.gateway_http import Refusal

if TYPE_CHECKING:
    from posthouse.gateway.service import Gateway

Handler = Callable[["Gateway", Any], Awaitable[BaseModel]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """What a route with names in its path is asked."""

    #: The parts of the path that stand for `{name}`.
    names: Mapping[str, str]
    #: The decoded body; None when the route takes none.
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path: what it takes, what it gives, how it refuses.

    The handler gets the decoded body or query, or None; with names in the path, an `Addressed`.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    response: type[BaseModel]
    #: None: the route takes no body.
    request: TypeAdapter[Any] | None = None
    #: None: it takes no parameters behind the question mark, and overlooks them.
    query: type[BaseModel] | None = None
    success: int = 200
    #: Status to reason, beyond what every route may answer.
    refusals: Mapping[int, str] = field(default_factory=dict)
    #: The shape of those refusals.
    refusal: type[BaseModel] = Refusal
