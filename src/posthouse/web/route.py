"""The declaration of one route."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from posthouse.contracts.gateway_http import Refusal
from posthouse.web import scopes

#: Gets the process's service. A `Response` is sent as it is; a model is encoded with the route's status.
Handler = Callable[[Any, Any], Coroutine[Any, Any, BaseModel | Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteInput:
    """The input of a route that has path parameters or reads headers."""

    #: Values by name, one for each `{name}` in the path.
    path_params: Mapping[str, str] = field(default_factory=dict)
    #: The decoded body or query; None when the route takes none.
    body: Any = None
    #: The sent headers among those that the route declares, by their names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path: its input, its responses, its errors.

    The handler gets the decoded body or query, or None; with path parameters or declared headers, a
    `RouteInput`.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    #: None: the response has no model; `media_type` and `schema` describe it.
    response: type[BaseModel] | None
    #: None: the route takes no body.
    request: TypeAdapter[Any] | None = None
    #: None: query parameters are ignored.
    query: type[BaseModel] | None = None
    #: The handler gets the raw body (bytes) or query string (text), to forward it.
    forwards_raw: bool = False
    #: Request headers that it reads, with descriptions.
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    #: The schema of a success when `response` is None.
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    #: Headers of a success, with descriptions.
    response_headers: Mapping[str, str] = field(default_factory=dict)
    #: The response may take long, and is cancelled when its caller disconnects.
    waits: bool = False
    success: int = 200
    #: Other statuses of a success, with descriptions.
    other_successes: Mapping[int, str] = field(default_factory=dict)
    #: Status to reason, beyond the common errors of every route.
    refusals: Mapping[int, str] = field(default_factory=dict)
    #: The model of those errors.
    refusal: type[BaseModel] = Refusal
    #: The scope that a remote caller needs; None: `read` for GET, `prompt` for others.
    scope: scopes.Scope | None = None

    @property
    def required_scope(self) -> scopes.Scope:
        """The scope that a token must have at least."""
        return self.scope or scopes.default_scope(self.method)
