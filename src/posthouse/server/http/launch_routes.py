"""The route that launches headless agents."""

from pathlib import Path

from pydantic import TypeAdapter

from posthouse.contracts import managed_agents_http as wire
from posthouse.server.service import ServerService
from posthouse.web.route import Route


async def launch_headless(server: ServerService, order: wire.HeadlessLaunch) -> wire.Launched:
    member = await server.launch(order)
    return wire.Launched(
        tracked_agent_id=member.tracked_agent_id,
        identity=member.identity,
        manifest_path=member.record.runtime.manifest_path,
        session_root=str(Path(member.record.runtime.manifest_path).parent),
        detail=f"{member.record.agent_name} waits for its first turn",
    )


ROUTES = (
    Route(
        method="POST",
        path="/houmao/agents/headless/launches",
        summary="Launch a headless agent whose turns this server owns.",
        handler=launch_headless,
        request=TypeAdapter(wire.HeadlessLaunch),
        response=wire.Launched,
        scope="admin",
        refusals={
            409: "An agent of that name or id exists.",
            503: "tmux, the disk or the registry failed; the launch was rolled back.",
        },
    ),
)
