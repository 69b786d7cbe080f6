"""Tells the journal who came and who went, and which records can't be used."""

from collections.abc import Mapping

from posthouse.coordination.member import Member
from posthouse.coordination.roster import Roster
from posthouse.events.journal import Journal


class News:
    """Compares what is known with what was known. Who is there at the start is no news."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._has_begun = False
        self._live: Mapping[str, Member] = {}
        self._problems: Mapping[str, str] = {}

    def begin(self, roster: Roster, problems: Mapping[str, str]) -> None:
        """Take what is there for known, and say that whoever followed another server should ask anew."""
        self._has_begun = True
        self._live, self._problems = _live(roster), dict(problems)
        self._journal.add("server_started", live_agents=len(self._live))

    def look(self, roster: Roster, problems: Mapping[str, str]) -> None:
        """Tell what changed since the last look."""
        if not self._has_begun:
            return
        before, self._live = self._live, _live(roster)
        for agent_id in sorted(self._live.keys() - before.keys()):
            self._tell_of("agent_appeared", self._live[agent_id])
        registered = {member.tracked_agent_id: member for member in roster.members}
        for agent_id in sorted(before.keys() - self._live.keys()):
            known = registered.get(agent_id)
            was_stopped = known is not None and not known.is_meant_to_run
            self._tell_of("agent_stopped" if was_stopped else "agent_gone", before[agent_id])
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


def _live(roster: Roster) -> dict[str, Member]:
    return {member.tracked_agent_id: member for member in roster.live}
