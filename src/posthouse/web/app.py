"""The HTTP application of a process, built from its table of routes."""

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
from posthouse.web.connection import WAITS
from posthouse.web.route import Addressed, Route
from posthouse.web.routing import Table
from posthouse.web.slow_responses import while_connected

#: Where an application notes which route was asked, for whoever counts.
ROUTE = "posthouse.route"
#: For whoever counts answers; the caller has gone.
_NOBODY_LISTENS = 499


class Witness(Protocol):
    """Hears of requests that were refused, whoever is to blame."""

    def invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None:
        """The body or the query was not what the route takes."""

    def refused(self, scope: Scope, error: PosthouseError) -> None:
        """The route said no."""


def build(
    service: Any,
    routes: Iterable[Route],
    *,
    witness: Witness,
    statuses: Mapping[type[PosthouseError], int] = {},
) -> ASGIApp:
    """The application whose handlers get *service*; *statuses* adds to those of the families of errors."""
    return _Application(service, Table(routes), witness, {**statuses, **error_responses.STATUSES})


class _Application:
    """Answers each request by its route: decode, call, encode.

    Starlette's own application finds a route by trying one pattern after the other, below three layers that
    each wrap every answer; together they cost as much as accepting a request does.
    """

    def __init__(
        self,
        service: Any,
        table: Table,
        witness: Witness,
        statuses: Mapping[type[PosthouseError], int],
    ) -> None:
        self._service = service
        self._table = table
        self._witness = witness
        self._statuses = statuses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(Request(scope, receive))
        except Exception as error:
            refusal = error_responses.refusal_of(error, self._statuses)
            await (refusal or error_responses.crashed())(scope, receive, send)
            if refusal is None or _is_worth_a_log(error):
                raise  # the server logs the traceback
        else:
            await answer(scope, receive, send)

    async def _answer(self, http: Request) -> Response:
        route, names = self._table.find(http.method, http.scope["path"])
        http.scope[ROUTE] = route
        scopes.check(http.scope, route.needs)
        try:
            order = await _decode(route, http, names)
        except error_responses.InvalidBody as error:
            self._witness.invalid(http.scope, error.problems)
            raise
        try:
            if route.waits:
                http.scope.setdefault("extensions", {})[WAITS] = {}
            work = route.handler(self._service, order)
            answer = await (while_connected(http, work) if route.waits else work)
        except PosthouseError as error:
            self._witness.refused(http.scope, error)
            raise
        except ClientDisconnect:
            return Response(status_code=_NOBODY_LISTENS)
        except Exception as error:
            refused = system_errors.translated(error)
            if refused is None:
                raise
            self._witness.refused(http.scope, refused)
            raise refused from error
        if isinstance(answer, Response):
            return answer
        return Response(answer.model_dump_json(), route.success, media_type="application/json")


def _is_worth_a_log(error: Exception) -> bool:
    """Whether a refusal may be a fault of ours all the same, such as a path that is not there."""
    return isinstance(error, system_errors.SystemRefused) and not error.is_plain


async def _decode(route: Route, http: Request, names: Mapping[str, str]) -> object:
    order = _query(route, http) if route.query is not None else await _body(route, http)
    if not names and not route.headers:
        return order
    heard = {name: http.headers[name] for name in route.headers if name in http.headers}
    return Addressed(names=names, body=order, headers=heard)


async def _body(route: Route, http: Request) -> object:
    if route.request is None:
        return None
    body = await read_json(http)
    if route.passes_on:
        return body
    try:
        order: object = route.request.validate_json(body)
    except ValidationError as error:
        raise error_responses.InvalidBody(error_responses.problems_of(error, body)) from error
    return order


def _query(route: Route, http: Request) -> object:
    """A name that is given again adds to a list with commas."""
    assert route.query is not None
    if route.passes_on:
        return http.scope["query_string"].decode("latin-1")
    given: dict[str, str] = {}
    for name, value in http.query_params.multi_items():
        given[name] = f"{given[name]},{value}" if name in given else value
    try:
        return route.query.model_validate_strings(given)
    except ValidationError as error:
        raise error_responses.InvalidBody(error_responses.problems_of_query(error)) from error
