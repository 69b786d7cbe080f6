"""`agents list`: which agents there are, and how they are."""

from posthouse.cli import describe, humane
from posthouse.cli.call import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.sessions.liveness import Agent
from posthouse.support import clock

_STATES = ("active", "stopped", "relaunching", "retired", "all")
_HEADINGS = ("name", "tool", "kind", "state", "since", "gateway", "id")


def listing_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--state", choices=_STATES, default="active", help="only agents in this state (default: active)"
    )


def listing(call: Call) -> int:
    """Show the agents of the registry with what tmux says about them."""
    wanted = call.arguments.state
    agents = call.wiring.agents.registered(None if wanted == "all" else frozenset({wanted}))
    call.output.table(
        {"agents": [describe.listed(agent) for agent in agents]},
        _HEADINGS,
        [_row(agent) for agent in agents],
        empty=_nothing(call, wanted),
    )
    return 0


def _row(agent: Agent) -> list[Cell]:
    lifecycle = agent.record.lifecycle
    return [
        Cell(agent.name, "strong"),
        Cell(agent.record.identity.tool),
        Cell(describe.kind(agent)),
        describe.health(agent),
        Cell(humane.ago(clock.parse(lifecycle.state_updated_at), clock.now())),
        Cell(describe.gateway(agent)),
        Cell(agent.agent_id, "faint"),
    ]


def _nothing(call: Call, wanted: str) -> str:
    if wanted == "all":
        return f"no agents yet; start one with `{call.prog} agents launch --tool scripted --name NAME`"
    return f"no {wanted} agents; `{call.prog} agents list --state all` shows the others"
