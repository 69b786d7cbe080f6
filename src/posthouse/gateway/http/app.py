"""The HTTP application of one gateway, built from the table of routes."""

from collections.abc import Awaitable, Callable

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from posthouse.errors import PosthouseError
from posthouse.gateway.http import refusals
from posthouse.gateway.http.body import read_json
from posthouse.gateway.http.diagnostics import note_invalid, note_refused, watched
from posthouse.gateway.http.door import Door
from posthouse.gateway.http.route import Addressed, Route
from posthouse.gateway.http.routes import ROUTES
from posthouse.gateway.service import Gateway


def build(gateway: Gateway, token: bytes | None = None) -> ASGIApp:
    """The application that serves *gateway*; with *token*, also to those beyond this machine who show it."""
    app = Starlette(
        routes=[
            StarletteRoute(route.path, _endpoint(route, gateway), methods=[route.method]) for route in ROUTES
        ],
        exception_handlers={
            refusals.InvalidBody: refusals.on_invalid_body,
            refusals.Structured: refusals.on_structured,
            PosthouseError: refusals.on_refusal,
            HTTPException: refusals.on_http_error,
            Exception: refusals.on_crash,
        },
    )
    # A path with a slash too many is another path; redirects would repeat the caller's Host.
    app.router.redirect_slashes = False
    return watched(Door(app, token), gateway.diagnostics)


def _endpoint(route: Route, gateway: Gateway) -> Callable[[Request], Awaitable[Response]]:
    """Decode, call, encode."""

    async def endpoint(http: Request) -> Response:
        try:
            order = await _decode(route, http)
        except refusals.InvalidBody as error:
            note_invalid(gateway.diagnostics, http.scope, error.problems)
            raise
        try:
            answer = await route.handler(gateway, order)
        except PosthouseError as error:
            note_refused(gateway.diagnostics, http.scope, error)
            raise
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
    try:
        order: object = route.request.validate_json(body)
    except ValidationError as error:
        raise refusals.InvalidBody(refusals.problems_of(error, body)) from error
    return order


def _query(route: Route, http: Request) -> object:
    assert route.query is not None
    try:
        return route.query.model_validate_strings(dict(http.query_params))
    except ValidationError as error:
        raise refusals.InvalidBody(refusals.problems_of_query(error)) from error
