"""Which route a path and a method mean."""

from collections.abc import Mapping
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import Response

from posthouse.gateway.http.routes import ROUTES as GATEWAY
from posthouse.server.http.routes import ROUTES as COORDINATION
from posthouse.web.route import Route
from posthouse.web.routing import RouteTable


async def _nothing(_: Any, __: Any) -> Response:
    return Response()


def route(method: str, path: str) -> Route:
    return Route(method=method, path=path, summary="", handler=_nothing, response=None)


LIST, PUT = route("GET", "/v1/things"), route("POST", "/v1/things")
ONE, DROP = route("GET", "/v1/things/{name}"), route("DELETE", "/v1/things/{name}")
NEWEST = route("POST", "/v1/things/newest")
PART = route("GET", "/v1/things/{name}/parts/{part}")
TABLE = RouteTable((LIST, PUT, ONE, DROP, NEWEST, PART))

FOUND: Mapping[str, tuple[str, str, Route, dict[str, str]]] = {
    "a plain path": ("GET", "/v1/things", LIST, {}),
    "another method of it": ("POST", "/v1/things", PUT, {}),
    "HEAD is asked of who answers GET": ("HEAD", "/v1/things/a", ONE, {"name": "a"}),
    "a name": ("DELETE", "/v1/things/a b", DROP, {"name": "a b"}),
    "two names": ("GET", "/v1/things/a/parts/7", PART, {"name": "a", "part": "7"}),
    "a plain path before a name": ("POST", "/v1/things/newest", NEWEST, {}),
    "a name that is also a plain path of another method": (
        "GET",
        "/v1/things/newest",
        ONE,
        {"name": "newest"},
    ),
}


@pytest.mark.parametrize(("method", "path", "wanted", "names"), FOUND.values(), ids=FOUND.keys())
def test_a_route_is_found(method: str, path: str, wanted: Route, names: dict[str, str]) -> None:
    """By its path and its method, with what its names stand for."""
    found, named = TABLE.find(method, path)

    assert (found is wanted, dict(named)) == (True, names)


REFUSED = {
    "an unknown path": ("GET", "/v1/other", 404, None),
    "a slash too many": ("GET", "/v1/things/", 404, None),
    "an empty name": ("GET", "/v1/things//parts/7", 404, None),
    "a newline behind the path": ("GET", "/v1/things\n", 404, None),
    "another method": ("PUT", "/v1/things", 405, {"Allow": "GET, HEAD, POST"}),
    "another method of everything that fits": (
        "PUT",
        "/v1/things/newest",
        405,
        {"Allow": "DELETE, GET, HEAD, POST"},
    ),
}


@pytest.mark.parametrize(("method", "path", "status", "headers"), REFUSED.values(), ids=REFUSED.keys())
def test_what_nobody_serves_is_refused(
    method: str, path: str, status: int, headers: Mapping[str, str] | None
) -> None:
    """404 for a path, 405 for a method, with all that are allowed there."""
    with pytest.raises(HTTPException) as refused:
        TABLE.find(method, path)

    assert (refused.value.status_code, refused.value.headers) == (status, headers)


@pytest.mark.parametrize("routes", [GATEWAY, COORDINATION], ids=["gateway", "coordination"])
def test_every_route_of_a_process_is_found_under_its_own_path(routes: tuple[Route, ...]) -> None:
    """No route is hidden by another one."""
    table = RouteTable(routes)

    found = [table.find(one.method, one.path)[0] for one in routes]

    assert [one.path for one in found] == [one.path for one in routes]
    assert found == list(routes)
