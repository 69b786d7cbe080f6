"""The HTTP application of a process, built from its table of routes."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Scope

from posthouse.errors import PosthouseError
from posthouse.web import refusals, scopes
from posthouse.web.body import read_json
from posthouse.web.route import Addressed, Route
from posthouse.web.waiting import while_connected

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
) -> Starlette:
    """The application whose handlers get *service*; *statuses* adds to those of the families of errors."""

    async def on_refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, PosthouseError)
        return refusals.answer(error, {**statuses, **refusals.STATUSES})

    app = Starlette(
        routes=[
            StarletteRoute(route.path, _endpoint(route, service, witness), methods=[route.method])
            for route in routes
        ],
        exception_handlers={
            refusals.InvalidBody: refusals.on_invalid_body,
            refusals.Structured: refusals.on_structured,
            PosthouseError: on_refusal,
            HTTPException: refusals.on_http_error,
            Exception: refusals.on_crash,
        },
    )
    # A path with a slash too many is another path; redirects would repeat the caller's Host.
    app.router.redirect_slashes = False
    return app


def _endpoint(route: Route, service: Any, witness: Witness) -> Callable[[Request], Awaitable[Response]]:
    """Decode, call, encode."""

    async def endpoint(http: Request) -> Response:
        http.scope[ROUTE] = route
        scopes.check(http.scope, route.needs)
        try:
            order = await _decode(route, http)
        except refusals.InvalidBody as error:
            witness.invalid(http.scope, error.problems)
            raise
        try:
            work = route.handler(service, order)
            answer = await (while_connected(http, work) if route.waits else work)
        except PosthouseError as error:
            witness.refused(http.scope, error)
            raise
        except ClientDisconnect:
            return Response(status_code=_NOBODY_LISTENS)
        if isinstance(answer, Response):
            return answer
        return Response(answer.model_dump_json(), route.success, media_type="application/json")

    return endpoint


async def _decode(route: Route, http: Request) -> object:
    order = _query(route, http) if route.query is not None else await _body(route, http)
    if not http.path_params and not route.headers:
        return order
    heard = {name: http.headers[name] for name in route.headers if name in http.headers}
    return Addressed(names=http.path_params, body=order, headers=heard)


async def _body(route: Route, http: Request) -> object:
    if route.request is None:
        return None
    body = await read_json(http)
    if route.passes_on:
        return body
    try:
        order: object = route.request.validate_json(body)
    except ValidationError as error:
        raise refusals.InvalidBody(refusals.problems_of(error, body)) from error
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
        raise refusals.InvalidBody(refusals.problems_of_query(error)) from error
