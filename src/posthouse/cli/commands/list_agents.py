"""`agents list`: the agents and their state."""

from typing import TYPE_CHECKING

from posthouse.cli import agent_description, humanize, tui_state_view
from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.contracts import names
from posthouse.sessions import liveness
from posthouse.sessions.liveness import Agent
from posthouse.support import clock

if TYPE_CHECKING:
    from posthouse.contracts.external_agents import ExternalRecord

_STATES = ("active", "stopped", "relaunching", "retired")
#: With agents whose relaunch was killed, so that they can be stopped.
_DEFAULT = frozenset({"active", "relaunching"})
_CHOICES: dict[str, frozenset[str] | None] = {**{state: frozenset({state}) for state in _STATES}, "all": None}
_HEADINGS = ("name", "tool", "kind", "may", "state", "since", "gateway")


def listing_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--state", choices=_CHOICES, help="only agents in this state (default: active and relaunching)"
    )


def listing(call: Call) -> int:
    """List the agents of the registry with their health in tmux."""
    wanted = call.arguments.state
    agents = liveness.registered(call.wiring.registry, _DEFAULT if wanted is None else _CHOICES[wanted])
    # The state of external agents is known only to their servers.
    others = _external_agents(call) if wanted in (None, "all") else []
    call.output.table(
        {
            "agents": [
                *(agent_description.listed(agent) for agent in agents),
                *(one.identity for one in others),
            ]
        },
        _HEADINGS,
        [*(_row(agent) for agent in agents), *(_external_row(one) for one in others)],
        empty=_empty_text(call, wanted),
    )
    for agent in agents:
        if agent.health == "unknown":
            call.notice(f"{agent.name}: {agent.detail}")
    for entry in call.wiring.registry.entries():
        if entry.problem is not None:
            call.notice(entry.problem)
    return 0


def _external_agents(call: Call) -> "list[ExternalRecord]":
    root = call.wiring.roots.registry
    if not (root / names.EXTERNAL_AGENTS).is_dir():
        return []
    from posthouse.sessions.externals import ExternalAgents

    return ExternalAgents(root).records()


def _external_row(record: "ExternalRecord") -> list[Cell]:
    identity = record.identity
    return [
        Cell(record.local_name, "strong"),
        Cell(identity["tool"]),
        Cell("external"),
        Cell("-"),
        Cell("remote", "faint"),
        Cell(humanize.ago(clock.parse(record.created_at_utc), clock.now())),
        Cell(record.pair_api_base_url),
    ]


def _row(agent: Agent) -> list[Cell]:
    lifecycle = agent.record.lifecycle
    gateway = agent_description.gateway(agent)
    return [
        Cell(agent.name, "strong"),
        Cell(agent.record.identity.tool),
        Cell(agent_description.kind(agent)),
        Cell(agent_description.permissions(agent) or "-"),
        _state(agent),
        Cell(humanize.ago(clock.parse(lifecycle.state_updated_at), clock.now())),
        Cell(f"http://{gateway.host}:{gateway.port}" if gateway else "-"),
    ]


def _state(agent: Agent) -> Cell:
    """The agent's health; for a TUI with a gateway, also its TUI state."""
    if agent.session is not None and agent.health == "healthy" and agent_description.gateway(agent):
        tui = tui_state_view.read_saved(agent.session)
        if tui is not None:
            shown = tui_state_view.cell(tui)
            return Cell(f"alive, {shown.text}", shown.tone)
    return agent_description.health(agent)


def _empty_text(call: Call, wanted: str | None) -> str:
    if wanted == "all" or not call.wiring.registry.records():
        return f"no agents yet; start one with `{call.prog} agents launch --tool scripted --name NAME`"
    return f"no {wanted or 'active'} agents; `{call.prog} agents list --state all` lists the others"
