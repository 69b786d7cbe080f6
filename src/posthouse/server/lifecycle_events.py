"""Tells the journal who came and who went, and which records can't be used.

`agent_gone`: its session ended. `agent_stopped`: its record says so; often both, in that order.
"""

from collections.abc import Iterable, Mapping

from posthouse.events.journal import Journal
from posthouse.server.agent_index import Roster
from posthouse.server.member import Member


class News:
    """Compares what is known with what was known. Who is there at the start is no news."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._has_begun = False
        #: Those whose session is there, and those whose records say that it should be.
        self._live: Mapping[str, Member] = {}
        self._meant: Mapping[str, Member] = {}
        self._problems: Mapping[str, str] = {}

    def begin(self, roster: Roster, problems: Mapping[str, str]) -> None:
        """Take what is there for known, and say that whoever followed another server should ask anew."""
        self._has_begun = True
        self._live, self._meant, self._problems = _by_id(roster.live), _meant(roster), dict(problems)
        self._journal.add("server_started", live_agents=len(self._live))

    def look(self, roster: Roster, problems: Mapping[str, str]) -> None:
        """Tell what changed since the last look."""
        if not self._has_begun:
            return
        before, self._live = self._live, _by_id(roster.live)
        meant, self._meant = self._meant, _meant(roster)
        for agent_id in sorted(self._live.keys() - before.keys()):
            self._tell_of("agent_appeared", self._live[agent_id])
        stopped = meant.keys() - self._meant.keys()
        for agent_id in sorted(before.keys() - self._live.keys() - stopped):
            self._tell_of("agent_gone", before[agent_id])
        for agent_id in sorted(stopped):
            self._tell_of("agent_stopped", meant[agent_id])
        self._look_at(problems)

    def _look_at(self, problems: Mapping[str, str]) -> None:
        before, self._problems = self._problems, dict(problems)
        for agent_id, problem in sorted(self._problems.items()):
            if before.get(agent_id) != problem:
                self._journal.add("record_problem", agent_id=agent_id, problem=problem)
        for agent_id in sorted(before.keys() - self._problems.keys()):
            self._journal.add("record_mended", agent_id=agent_id)

    def _tell_of(self, kind: str, member: Member) -> None:
        who = member.identity
        self._journal.add(
            kind,
            agent_id=member.tracked_agent_id,
            agent_name=who.agent_name,
            tool=who.tool,
            transport=who.transport,
        )


def _meant(roster: Roster) -> dict[str, Member]:
    return _by_id([member for member in roster.members if member.is_meant_to_run])


def _by_id(members: Iterable[Member]) -> dict[str, Member]:
    return {member.tracked_agent_id: member for member in members}
