"""The route table of the coordination server."""

from starlette.responses import Response

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.http import (
    events,
    gateway_own_routes,
    gateway_routes,
    launch_routes,
    mail_routes,
    operations,
    request_routes,
    state_routes,
    turn_routes,
)
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.http.external_routes import with_external_agents
from posthouse.server.service import ServerService
from posthouse.web.route import Route, RouteInput


async def health(_: ServerService, __: None) -> wire.ServerHealth:
    return wire.ServerHealth()


async def current_instance(server: ServerService, _: None) -> wire.ServerInstance:
    return server.instance


async def shutdown(server: ServerService, _: None) -> wire.Done:
    server.stopping.set()
    return wire.Done()


async def list_agents(server: ServerService, wanted: wire.ListQuery) -> Response:
    far = (one.encoded for one in server.externals.all if wanted.matches(one.identity, has_gateway=False))
    identities = b",".join([*(member.encoded for member in server.list_agents(wanted)), *far])
    return Response(b'{"agents":[' + identities + b"]}", media_type="application/json")


async def get_agent(server: ServerService, inputs: RouteInput) -> Response:
    return Response(server.member(inputs.path_params["agent_ref"]).encoded, media_type="application/json")


_ROUTES = (
    Route(
        method="GET",
        path="/health",
        summary="Liveness, and the kind of service.",
        handler=health,
        response=wire.ServerHealth,
    ),
    Route(
        method="GET",
        path="/houmao/server/current-instance",
        summary="The server process and its folder.",
        handler=current_instance,
        response=wire.ServerInstance,
    ),
    Route(
        method="POST",
        path="/houmao/server/shutdown",
        summary="Shut down the server. Agents and their gateways continue.",
        handler=shutdown,
        response=wire.Done,
        scope="admin",
    ),
    Route(
        method="GET",
        path="/houmao/agents",
        summary="Running agents that match; `include=all` adds stopped ones.",
        handler=list_agents,
        query=wire.ListQuery,
        response=wire.AgentList,
    ),
    Route(
        method="GET",
        path=AGENT,
        summary="The identity of an agent.",
        handler=get_agent,
        response=wire.Identity,
        refusals=FINDING,
        refusal=wire.Ambiguous,
    ),
    *state_routes.ROUTES,
    *request_routes.ROUTES,
    *events.ROUTES,
    *gateway_routes.ROUTES,
    *gateway_own_routes.ROUTES,
    *mail_routes.ROUTES,
    *launch_routes.ROUTES,
    *turn_routes.ROUTES,
    *operations.ROUTES,
)

ROUTES = tuple(with_external_agents(route) for route in _ROUTES)
