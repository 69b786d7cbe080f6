"""Routes for prompts, interrupts and stops, for both transports."""

from pydantic import TypeAdapter

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import ServerService
from posthouse.web.route import Route, RouteInput


async def submit_request(server: ServerService, inputs: RouteInput) -> wire.ManagedAccepted:
    return await server.requests.submit(server.member(inputs.path_params["agent_ref"]), inputs.body)


async def stop(server: ServerService, inputs: RouteInput) -> wire.ActionDone:
    return await server.stopper.stop(server.member(inputs.path_params["agent_ref"]))


ROUTES = (
    Route(
        method="POST",
        path=f"{AGENT}/requests",
        summary="Prompt or interrupt an agent, through its gateway or directly.",
        handler=submit_request,
        request=TypeAdapter(wire.ManagedRequest),
        response=wire.ManagedAccepted,
        refusals={
            404: "No agent has that name.",
            409: "A headless turn is active, or the name is ambiguous.",
            503: "The agent or its gateway can't execute the request now.",
        },
        refusal=wire.Ambiguous,
    ),
    Route(
        method="POST",
        path=f"{AGENT}/stop",
        summary="Stop an agent with its gateway and its turn; it can be relaunched.",
        handler=stop,
        response=wire.ActionDone,
        refusals={**FINDING, 503: "Its tmux server does not answer, or a process does not end."},
        refusal=wire.Ambiguous,
        scope="admin",
    ),
)
