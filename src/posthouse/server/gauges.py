"""How the server and its agents stand at the moment it is asked, in numbers."""

from collections import Counter

from posthouse import __version__
from posthouse.server.agent_index import Roster
from posthouse.server.member import Member
from posthouse.web.exposition import Family, Sample
from posthouse.web.gauges import one


def of_server(*, problems: int, followed: int) -> list[Family]:
    return [
        one("server_info", "gauge", "Always 1.", 1, {"version": __version__}),
        one("record_problems", "gauge", "Registry records that can't be used.", problems),
        one("gateways_followed", "gauge", "Gateways that are listened to for readers.", followed),
    ]


def of_agents(roster: Roster) -> Family:
    """Everybody who is registered, by what they are."""
    counted = Counter(_labels(roster, member) for member in roster.members)
    return Family(
        name="posthouse_agents",
        kind="gauge",
        help="Registered agents; live: tmux has its session, missing: it should and has not.",
        samples=[
            Sample(value=count, labels={"tool": tool, "transport": transport, "state": state})
            for (tool, transport, state), count in sorted(counted.items())
        ],
    )


def _labels(roster: Roster, member: Member) -> tuple[str, str, str]:
    who, state = member.identity, str(member.record.lifecycle.state)
    if member.is_meant_to_run:
        state = "live" if roster.is_live(member) else "missing"
    return who.tool, who.transport, state
