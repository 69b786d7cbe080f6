"""What agents are asked to do, and their end, the same for every transport."""

from pydantic import TypeAdapter

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import Coordination
from posthouse.web.route import Addressed, Route


async def submit_request(server: Coordination, asked: Addressed) -> wire.ManagedAccepted:
    return await server.requests.submit(server.member(asked.names["agent_ref"]), asked.body)


async def stop(server: Coordination, asked: Addressed) -> wire.ActionDone:
    return await server.stops.stop(server.member(asked.names["agent_ref"]))


ROUTES = (
    Route(
        method="POST",
        path=f"{AGENT}/requests",
        summary="Give an agent a prompt, or interrupt it, whichever way is safe now.",
        handler=submit_request,
        request=TypeAdapter(wire.ManagedRequest),
        response=wire.ManagedAccepted,
        refusals={
            404: "No agent answers to that name.",
            409: "A headless turn is active, or the name is ambiguous.",
            503: "The agent, or its gateway, can't do that now.",
        },
        refusal=wire.Ambiguous,
    ),
    Route(
        method="POST",
        path=f"{AGENT}/stop",
        summary="End an agent with its gateway and its turn; it can be relaunched.",
        handler=stop,
        response=wire.ActionDone,
        refusals={**FINDING, 503: "Its tmux server does not answer, or a process would not end."},
        refusal=wire.Ambiguous,
        scope="admin",
    ),
)
