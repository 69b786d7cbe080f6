"""The ASGI application of a process, built from its table of routes."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from posthouse.errors import PosthouseError
from posthouse.support import system_errors
from posthouse.web import error_responses, scopes
from posthouse.web.body import read_json
from posthouse.web.connection import NO_RESPONSE_TIMEOUT
from posthouse.web.route import Route, RouteInput
from posthouse.web.routing import RouteTable
from posthouse.web.slow_responses import while_connected

#: The key of the ASGI scope that holds the matched route, for metrics and traces.
ROUTE = "posthouse.route"
#: Recorded in metrics when the caller disconnected.
_CLIENT_CLOSED = 499


class RequestObserver(Protocol):
    """Is notified of refused requests."""

    def on_invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None:
        """The body or the query is invalid."""

    def on_refused(self, scope: Scope, error: PosthouseError) -> None:
        """The route raised *error*."""


def build(
    service: Any,
    routes: Iterable[Route],
    *,
    observer: RequestObserver,
    statuses: Mapping[type[PosthouseError], int] = {},
) -> ASGIApp:
    """The application whose handlers get *service*; *statuses* extends the statuses of the error families."""
    return _Application(service, RouteTable(routes), observer, {**statuses, **error_responses.STATUSES})


class _Application:
    """Handles each request by its route: decode, call, encode.

    Starlette's application tries one pattern after the other, below three layers of middleware; together they
    cost as much as accepting a request does.
    """

    def __init__(
        self,
        service: Any,
        table: RouteTable,
        observer: RequestObserver,
        statuses: Mapping[type[PosthouseError], int],
    ) -> None:
        self._service = service
        self._table = table
        self._observer = observer
        self._statuses = statuses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(Request(scope, receive))
        except Exception as error:
            refusal = error_responses.refusal_of(error, self._statuses)
            await (refusal or error_responses.internal_error())(scope, receive, send)
            if refusal is None or _needs_log(error):
                raise  # the server logs the traceback
        else:
            await response(scope, receive, send)

    async def _respond(self, http: Request) -> Response:
        route, names = self._table.find(http.method, http.scope["path"])
        http.scope[ROUTE] = route
        scopes.check(http.scope, route.required_scope)
        try:
            decoded = await _decode(route, http, names)
        except error_responses.InvalidBody as error:
            self._observer.on_invalid(http.scope, error.problems)
            raise
        try:
            if route.waits:
                http.scope.setdefault("extensions", {})[NO_RESPONSE_TIMEOUT] = {}
            work = route.handler(self._service, decoded)
            response = await (while_connected(http, work) if route.waits else work)
        except PosthouseError as error:
            self._observer.on_refused(http.scope, error)
            raise
        except ClientDisconnect:
            return Response(status_code=_CLIENT_CLOSED)
        except Exception as error:
            refused = system_errors.translate(error)
            if refused is None:
                raise
            self._observer.on_refused(http.scope, refused)
            raise refused from error
        if isinstance(response, Response):
            return response
        return Response(response.model_dump_json(), route.success, media_type="application/json")


def _needs_log(error: Exception) -> bool:
    """Whether the error may be a fault of ours, such as a missing path."""
    return isinstance(error, system_errors.SystemRefused) and not error.is_environmental


async def _decode(route: Route, http: Request, names: Mapping[str, str]) -> object:
    decoded = _query(route, http) if route.query is not None else await _body(route, http)
    if not names and not route.headers:
        return decoded
    headers = {name: http.headers[name] for name in route.headers if name in http.headers}
    return RouteInput(path_params=names, body=decoded, headers=headers)


async def _body(route: Route, http: Request) -> object:
    if route.request is None:
        return None
    body = await read_json(http)
    if route.forwards_raw:
        return body
    try:
        decoded: object = route.request.validate_json(body)
    except ValidationError as error:
        raise error_responses.InvalidBody(error_responses.problems_of(error, body)) from error
    return decoded


def _query(route: Route, http: Request) -> object:
    """The decoded query. Repeated parameters are joined with commas."""
    assert route.query is not None
    if route.forwards_raw:
        return http.scope["query_string"].decode("latin-1")
    given: dict[str, str] = {}
    for name, value in http.query_params.multi_items():
        given[name] = f"{given[name]},{value}" if name in given else value
    try:
        return route.query.model_validate_strings(given)
    except ValidationError as error:
        raise error_responses.InvalidBody(error_responses.problems_of_query(error)) from error
