"""Who is there: all members, found by any of their names. Pure; time and the outside are the caller's.

Members whose tmux session lives are asked for before those that stopped or died, so that a name which was
used again means the agent of today.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

from posthouse.contracts import identity
from posthouse.errors import Conflict, NotFound
from posthouse.server.member import Member
from posthouse.terminal.client import Server

#: The sessions of each tmux server that could be asked.
Sessions = Mapping[Server, frozenset[str]]


class UnknownAgent(NotFound):
    """Nobody answers to that name."""

    code = "agent_not_found"


class AmbiguousAgent(Conflict):
    """More than one agent answers to that name; nothing was done."""

    code = "ambiguous_agent"

    def __init__(self, ref: str, candidates: Iterable[Member]) -> None:
        agent_ids = sorted(member.tracked_agent_id for member in candidates)
        super().__init__(
            f"{len(agent_ids)} agents answer to {ref!r}: ask by agent id, {' or '.join(agent_ids)}"
        )
        self.facts = {"agent_ids": agent_ids}


class Roster:
    """The members at one moment."""

    def __init__(self, members: Iterable[Member], sessions: Sessions) -> None:
        self._members = {member.tracked_agent_id: member for member in members}
        self._sessions = sessions
        self._by_alias: dict[str, list[Member]] = {}
        for member in self._members.values():
            for alias in member.aliases:
                self._by_alias.setdefault(alias, []).append(member)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """All of them, by name."""
        return tuple(
            sorted(
                self._members.values(),
                key=lambda member: (member.record.agent_name, member.tracked_agent_id),
            )
        )

    @cached_property
    def live(self) -> tuple[Member, ...]:
        """Those that a record and tmux both say are there, by name."""
        return tuple(member for member in self.members if self.is_live(member))

    def is_live(self, member: Member) -> bool:
        """Whether its record says that it runs, and its tmux session is there.

        A server that could not be asked is believed to be as the records say: it may only be slow.
        """
        if not member.is_meant_to_run:
            return False
        sessions = None if member.server is None else self._sessions.get(member.server)
        return sessions is None or member.tmux_session_name in sessions

    def has_live(self, tracked_agent_id: str) -> bool:
        """Whether there is an agent of that id, and it runs."""
        member = self._members.get(tracked_agent_id)
        return member is not None and self.is_live(member)

    def find(self, ref: str) -> Member:
        """The one that *ref* means: an id wins over names, a live agent over others.

        Raises:
            UnknownAgent, AmbiguousAgent: There is none, or several.
        """
        if (member := self._members.get(ref)) is not None:
            return member
        words = {ref, identity.canonical(ref)}
        found = {member.tracked_agent_id: member for word in words for member in self._by_alias.get(word, [])}
        candidates = [member for member in found.values() if self.is_live(member)] or [*found.values()]
        if not candidates:
            raise UnknownAgent(f"no agent answers to {ref!r}: GET /houmao/agents lists those that run")
        if len(candidates) > 1:
            raise AmbiguousAgent(ref, candidates)
        return candidates[0]
