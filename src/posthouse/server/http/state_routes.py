"""How an agent is, and was: the same for every transport, with and without a gateway."""

from dataclasses import replace

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import Coordination
from posthouse.web.route import Addressed, Route


async def get_state(server: Coordination, asked: Addressed) -> wire.Summary:
    return await server.states.summary(server.member(asked.names["agent_ref"]))


async def get_detail(server: Coordination, asked: Addressed) -> wire.Detail:
    return await server.states.detail(server.member(asked.names["agent_ref"]))


async def get_history(server: Coordination, asked: Addressed) -> wire.History:
    return await server.states.history(server.member(asked.names["agent_ref"]), asked.body.limit)


async def get_managed_state(server: Coordination, asked: Addressed) -> wire.Summary:
    return await get_state(server, asked)


async def get_managed_detail(server: Coordination, asked: Addressed) -> wire.Detail:
    return await get_detail(server, asked)


async def get_managed_history(server: Coordination, asked: Addressed) -> wire.History:
    return await get_history(server, asked)


_STATE = Route(
    method="GET",
    path=f"{AGENT}/state",
    summary="How an agent is, in words that fit both transports.",
    handler=get_state,
    response=wire.Summary,
    refusals=FINDING,
    refusal=wire.Ambiguous,
)
_DETAIL = Route(
    method="GET",
    path=f"{AGENT}/state/detail",
    summary="How an agent is, with what is particular to its transport.",
    handler=get_detail,
    response=wire.Detail,
    refusals=FINDING,
    refusal=wire.Ambiguous,
)
_HISTORY = Route(
    method="GET",
    path=f"{AGENT}/history",
    summary="What lately became of an agent, newest first; turns have routes of their own.",
    handler=get_history,
    query=wire.HistoryQuery,
    response=wire.History,
    refusals=FINDING,
    refusal=wire.Ambiguous,
)

#: Newer clients ask under other names for the same.
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
