"""The agent tools. Their docstrings are the descriptions that models read."""

from typing import Annotated, Any

from pydantic import Field

from posthouse.cli.mcp.command import CommandRunner
from posthouse.cli.mcp.mail_tools import AgentName

_Agent = Annotated[AgentName, Field(description="the agent's name or id")]
_WaitSeconds = Annotated[float, Field(gt=0, le=3600)]
#: Time for the command itself, beyond its timeout.
_GRACE_SECONDS = 30.0


class AgentTools:
    """Tools for agents."""

    def __init__(self, commands: CommandRunner) -> None:
        self._commands = commands

    async def agents_list(self) -> dict[str, Any]:
        """List the agents that run, with their tools, states and gateways."""
        return await self._commands.run("agents", "list")

    async def agent_state(self, agent: _Agent) -> dict[str, Any]:
        """Show what one agent is doing, how its last turn ended, and how that is known."""
        return await self._commands.run("agents", "state", agent)

    async def agent_prompt(
        self,
        agent: _Agent,
        prompt: Annotated[str, Field(min_length=1, max_length=500_000)],
        wait: bool = True,
        timeout_seconds: _WaitSeconds = 600,
    ) -> dict[str, Any]:
        """Give another agent a prompt and wait for its answer; wait=false returns the receipt at once."""
        if not wait:
            return await self._commands.run("agents", "prompt", agent, stdin=prompt)
        return await self._commands.run(
            *("agents", "prompt", agent, "--wait", f"--timeout={timeout_seconds:g}"),
            stdin=prompt,
            seconds=timeout_seconds + _GRACE_SECONDS,
        )

    async def agent_interrupt(self, agent: _Agent) -> dict[str, Any]:
        """Interrupt what an agent is doing; nothing running is not an error."""
        return await self._commands.run("agents", "interrupt", agent)
