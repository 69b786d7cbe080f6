"""Gauges of the server and its agents, computed at each scrape."""

from collections import Counter

from posthouse import __version__
from posthouse.server.agent_index import AgentIndex
from posthouse.server.member import Member
from posthouse.web.exposition import Family, Sample
from posthouse.web.gauges import metric


def of_server(*, problems: int, followed: int) -> list[Family]:
    return [
        metric("server_info", "gauge", "Always 1.", 1, {"version": __version__}),
        metric("record_problems", "gauge", "Registry records that can't be used.", problems),
        metric("gateways_followed", "gauge", "Gateways whose events are followed for readers.", followed),
    ]


def of_agents(index: AgentIndex) -> Family:
    """Registered agents by tool, transport and state."""
    counted = Counter(_labels(index, member) for member in index.members)
    return Family(
        name="posthouse_agents",
        kind="gauge",
        help="Registered agents; live: its tmux session exists, missing: it should exist.",
        samples=[
            Sample(value=count, labels={"tool": tool, "transport": transport, "state": state})
            for (tool, transport, state), count in sorted(counted.items())
        ],
    )


def _labels(index: AgentIndex, member: Member) -> tuple[str, str, str]:
    identity, state = member.identity, str(member.record.lifecycle.state)
    if member.is_expected_to_run:
        state = "live" if index.is_live(member) else "missing"
    return identity.tool, identity.transport, state
