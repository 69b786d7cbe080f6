"""What of a gateway is reached through the server."""

from posthouse.clients.server import endpoints
from posthouse.gateway.http.routes import ROUTES as GATEWAY_ROUTES
from posthouse.server.http.routes import ROUTES
from posthouse.web.route import Route

#: Told by the server over all agents: `/houmao/events`.
_NOT_PASSED_ON = {"/v1/events"}


def place_of(route: Route) -> tuple[str, str]:
    """Where our client looks for a gateway's route on the server."""
    asked = endpoints.through_gateway("{agent_ref}", route.method, route.path, None)
    return route.method, asked.path.replace("%7B", "{").replace("%7D", "}")


def test_every_route_of_a_gateway_is_passed_on_with_the_same_shapes() -> None:
    """A route that a gateway gets is not forgotten here, and both documents say the same of it."""
    there = {(route.method, route.path): route for route in ROUTES}
    passed_on = [
        route
        for route in GATEWAY_ROUTES
        if route.path.startswith("/v1/") and route.path not in _NOT_PASSED_ON
    ]

    assert [route.path for route in passed_on if place_of(route) not in there] == []
    for route in passed_on:
        ours = there[place_of(route)]
        assert (ours.response, ours.success, ours.query) == (route.response, route.success, route.query)
        assert ours.summary == route.summary or route.path in {"/v1/status", "/v1/requests"}
        assert route.refusals.keys() - {422} <= ours.refusals.keys()
        assert (ours.request is None) == (route.request is None)
        if ours.request is not None and route.request is not None:
            assert ours.request.json_schema() == route.request.json_schema()
