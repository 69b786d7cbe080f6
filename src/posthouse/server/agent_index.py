"""An index of all registered agents by id, name and other aliases. Pure.

Live agents take precedence over stopped and dead ones, so that a reused name resolves to the current agent.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

from posthouse.contracts import identity
from posthouse.errors import Conflict, NotFound
from posthouse.server.member import Member
from posthouse.terminal.client import Server

#: The sessions of each tmux server that answered.
Sessions = Mapping[Server, frozenset[str]]


class UnknownAgent(NotFound):
    """No agent has that name or id."""

    code = "agent_not_found"


class AmbiguousAgent(Conflict):
    """More than one agent has that name; nothing was done."""

    code = "ambiguous_agent"

    def __init__(self, ref: str, candidates: Iterable[Member]) -> None:
        agent_ids = sorted(member.tracked_agent_id for member in candidates)
        super().__init__(f"{len(agent_ids)} agents match {ref!r}: use the agent id, {' or '.join(agent_ids)}")
        self.facts = {"agent_ids": agent_ids}


class AgentIndex:
    """A snapshot of all registered agents."""

    def __init__(self, members: Iterable[Member], sessions: Sessions) -> None:
        self._members = {member.tracked_agent_id: member for member in members}
        self._sessions = sessions
        self._by_alias: dict[str, list[Member]] = {}
        for member in self._members.values():
            for alias in member.aliases:
                self._by_alias.setdefault(alias, []).append(member)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """All registered agents, sorted by name."""
        return tuple(
            sorted(
                self._members.values(),
                key=lambda member: (member.record.agent_name, member.tracked_agent_id),
            )
        )

    @cached_property
    def live(self) -> tuple[Member, ...]:
        """Agents whose record and tmux session both show that they run, sorted by name."""
        return tuple(member for member in self.members if self.is_live(member))

    def is_live(self, member: Member) -> bool:
        """Whether its record states that it runs, and its tmux session exists.

        When the tmux server does not answer, the record decides: the server may only be slow.
        """
        if not member.is_expected_to_run:
            return False
        sessions = None if member.server is None else self._sessions.get(member.server)
        return sessions is None or member.tmux_session_name in sessions

    def has_live(self, tracked_agent_id: str) -> bool:
        """Whether an agent with that id exists and runs."""
        member = self._members.get(tracked_agent_id)
        return member is not None and self.is_live(member)

    def find(self, ref: str) -> Member:
        """Resolve *ref*: ids take precedence over names, live agents over others.

        Raises:
            UnknownAgent, AmbiguousAgent: No agent, or several, match *ref*.
        """
        if (member := self._members.get(ref)) is not None:
            return member
        names = {ref, identity.canonical(ref)}
        found = {member.tracked_agent_id: member for word in names for member in self._by_alias.get(word, [])}
        candidates = [member for member in found.values() if self.is_live(member)] or [*found.values()]
        if not candidates:
            raise UnknownAgent(f"no agent matches {ref!r}: GET /houmao/agents lists running agents")
        if len(candidates) > 1:
            raise AmbiguousAgent(ref, candidates)
        return candidates[0]
