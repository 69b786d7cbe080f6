"""Every route of the coordination server, in one table."""

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
from posthouse.server.http.external_routes import answered_there
from posthouse.server.service import Coordination
from posthouse.web.route import Addressed, Route


async def health(_: Coordination, __: None) -> wire.ServerHealth:
    return wire.ServerHealth()


async def current_instance(server: Coordination, _: None) -> wire.ServerInstance:
    return server.instance


async def shutdown(server: Coordination, _: None) -> wire.Done:
    server.stopping.set()
    return wire.Done()


async def list_agents(server: Coordination, wanted: wire.ListQuery) -> Response:
    far = (one.encoded for one in server.externals.all if wanted.fits(one.identity, has_gateway=False))
    identities = b",".join([*(member.encoded for member in server.listed(wanted)), *far])
    return Response(b'{"agents":[' + identities + b"]}", media_type="application/json")


async def get_agent(server: Coordination, asked: Addressed) -> Response:
    return Response(server.member(asked.names["agent_ref"]).encoded, media_type="application/json")


_ROUTES = (
    Route(
        method="GET",
        path="/health",
        summary="Is this server alive, and which kind of service is it?",
        handler=health,
        response=wire.ServerHealth,
    ),
    Route(
        method="GET",
        path="/houmao/server/current-instance",
        summary="The process that answers, and its folder.",
        handler=current_instance,
        response=wire.ServerInstance,
    ),
    Route(
        method="POST",
        path="/houmao/server/shutdown",
        summary="End the server. Agents and their gateways go on.",
        handler=shutdown,
        response=wire.Done,
        scope="admin",
    ),
    Route(
        method="GET",
        path="/houmao/agents",
        summary="The agents that run and fit; `include=all` adds those that do not run.",
        handler=list_agents,
        query=wire.ListQuery,
        response=wire.AgentList,
    ),
    Route(
        method="GET",
        path=AGENT,
        summary="Who an agent is.",
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

ROUTES = tuple(answered_there(route) for route in _ROUTES)
