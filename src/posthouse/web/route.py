"""What one route is; the tables of routes are made of it."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from posthouse.contracts.gateway_http import Refusal
from posthouse.web import scopes

#: Gets the process's service. A `Response` is sent as it is; the rest is encoded with the route's status.
Handler = Callable[[Any, Any], Coroutine[Any, Any, BaseModel | Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """What a route is asked that has names in its path, or hears headers."""

    #: The parts of the path that stand for `{name}`.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The decoded body or query; None when the route takes none.
    body: Any = None
    #: Of those that the route hears, the headers that were sent, by their names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path: what it takes, what it gives, how it refuses.

    The handler gets the decoded body or query, or None; with names in the path or headers to hear, an
    `Addressed`.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    #: None: the answer is of no model, but of the media type and the schema.
    response: type[BaseModel] | None
    #: None: the route takes no body.
    request: TypeAdapter[Any] | None = None
    #: None: it takes no parameters behind the question mark, and overlooks them.
    query: type[BaseModel] | None = None
    #: The body (bytes), or what stands behind the question mark (a text), goes on to somebody else as it is.
    passes_on: bool = False
    #: Request headers that it hears, with what they are for.
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    #: What a success is, where `response` does not say it.
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    #: Headers of a success, with what they say.
    gives: Mapping[str, str] = field(default_factory=dict)
    #: The answer may take long, and is given up when its caller goes away.
    waits: bool = False
    success: int = 200
    #: Other statuses of a success, with what each means.
    also: Mapping[int, str] = field(default_factory=dict)
    #: Status to reason, beyond what every route may answer.
    refusals: Mapping[int, str] = field(default_factory=dict)
    #: The shape of those refusals.
    refusal: type[BaseModel] = Refusal
    #: What a caller from beyond this machine must be allowed; None: to look for GET, to prompt for others.
    scope: scopes.Scope | None = None

    @property
    def needs(self) -> scopes.Scope:
        """The scope that a token must have."""
        return self.scope or scopes.usual(self.method)
