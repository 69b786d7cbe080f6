"""The route that launches headless agents."""

from pathlib import Path

from pydantic import TypeAdapter

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.service import Coordination
from posthouse.web.route import Route


async def launch_headless(server: Coordination, order: wire.HeadlessLaunch) -> wire.Launched:
    made = await server.launched(order)
    return wire.Launched(
        tracked_agent_id=made.tracked_agent_id,
        identity=made.identity,
        manifest_path=made.record.runtime.manifest_path,
        session_root=str(Path(made.record.runtime.manifest_path).parent),
        detail=f"{made.record.agent_name} waits for its first turn",
    )


ROUTES = (
    Route(
        method="POST",
        path="/houmao/agents/headless/launches",
        summary="Launch a headless agent whose turns this server keeps.",
        handler=launch_headless,
        request=TypeAdapter(wire.HeadlessLaunch),
        response=wire.Launched,
        scope="admin",
        refusals={
            409: "An agent of that name or id is there.",
            503: "tmux, the disk or the registry failed; what was made was taken down again.",
        },
    ),
)
