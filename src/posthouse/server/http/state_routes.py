"""State and history of an agent, for both transports, with and without a gateway."""

from dataclasses import replace

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import ServerService
from posthouse.web.route import Route, RouteInput


async def get_state(server: ServerService, inputs: RouteInput) -> wire.Summary:
    return await server.states.summary(server.member(inputs.path_params["agent_ref"]))


async def get_detail(server: ServerService, inputs: RouteInput) -> wire.Detail:
    return await server.states.detail(server.member(inputs.path_params["agent_ref"]))


async def get_history(server: ServerService, inputs: RouteInput) -> wire.History:
    return await server.states.history(server.member(inputs.path_params["agent_ref"]), inputs.body.limit)


async def get_managed_state(server: ServerService, inputs: RouteInput) -> wire.Summary:
    return await get_state(server, inputs)


async def get_managed_detail(server: ServerService, inputs: RouteInput) -> wire.Detail:
    return await get_detail(server, inputs)


async def get_managed_history(server: ServerService, inputs: RouteInput) -> wire.History:
    return await get_history(server, inputs)


_STATE = Route(
    method="GET",
    path=f"{AGENT}/state",
    summary="The state of an agent, in terms common to both transports.",
    handler=get_state,
    response=wire.Summary,
    refusals=FINDING,
    refusal=wire.Ambiguous,
)
_DETAIL = Route(
    method="GET",
    path=f"{AGENT}/state/detail",
    summary="The state of an agent with the details of its transport.",
    handler=get_detail,
    response=wire.Detail,
    refusals=FINDING,
    refusal=wire.Ambiguous,
)
_HISTORY = Route(
    method="GET",
    path=f"{AGENT}/history",
    summary="The recent history of an agent, newest first; turns have separate routes.",
    handler=get_history,
    query=wire.HistoryQuery,
    response=wire.History,
    refusals=FINDING,
    refusal=wire.Ambiguous,
)

#: Newer clients use the `managed-` aliases.
ROUTES = (
    _STATE,
    _DETAIL,
    _HISTORY,
    replace(_STATE, path=f"{AGENT}/managed-state", handler=get_managed_state),
    replace(_DETAIL, path=f"{AGENT}/managed-state/detail", handler=get_managed_detail),
    replace(
        _HISTORY,
        path=f"{AGENT}/managed-history",
        handler=get_managed_history,
        query=wire.ManagedHistoryQuery,
    ),
)
