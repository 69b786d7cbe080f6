"""All agents at a glance, as `agents watch` sees them: told by a server, or by the agents' own files."""

from pathlib import Path

from posthouse.cli import overview_local
from posthouse.cli.overview import AgentLine
from posthouse.cli.overview_server import ServerOverview
from posthouse.clients.server import ServerClient
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.testing.server import serving
from posthouse.testing.waiting import wait_for


def test_both_see_the_same(agents: Agents, tmp_path: Path) -> None:
    """Who is there, what each does, how its last turn ended; a server is asked again when it tells."""
    made = agents.launch(LaunchSpec(tool="scripted", name="gpu", headless=True, working_directory=tmp_path))
    with serving(agents) as server:
        client = ServerClient(server.base_url, timeout_seconds=60.0)
        seen = ServerOverview(client)
        seen.start()
        wait_for(lambda: [line.state for line in seen.refresh()] == ["ready"])
        [before] = seen.refresh()
        assert before == AgentLine(
            agent_id=made.agent_id,
            name="gpu",
            tool="scripted",
            kind="headless",
            state="ready",
            queue=before.queue,
        )

        client.prompt("gpu", "hello [[say hi]]")
        told: list[list[AgentLine]] = [seen.refresh()]

        def has_ended() -> bool:
            if seen.changed.wait(0.1):
                told.append(seen.refresh())
            return [(line.state, line.last) for line in told[-1]] == [("ready", "success")]

        wait_for(has_ended, told=lambda: str(told))
        [here] = overview_local.read(agents.registry)
        assert (here.name, here.state, here.last, here.kind) == ("gpu", "ready", "success", "headless")

        agents.stop(agents.find(name="gpu"))
        wait_for(lambda: seen.refresh() == [])
        assert overview_local.read(agents.registry) == []
        seen.close()
