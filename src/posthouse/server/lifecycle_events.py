"""Writes journal events when agents appear or end, and when records become unusable.

`agent_gone`: its session ended. `agent_stopped`: its record states it; often both, in that order.
"""

from collections.abc import Iterable, Mapping

from posthouse.events.journal import Journal
from posthouse.server.agent_index import AgentIndex
from posthouse.server.member import Member


class LifecycleEvents:
    """Emits the difference between successive agent indexes. Agents found at the start emit no event."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._has_started = False
        #: Agents whose session exists, and agents whose record states that it should.
        self._live: Mapping[str, Member] = {}
        self._expected: Mapping[str, Member] = {}
        self._problems: Mapping[str, str] = {}

    def start(self, index: AgentIndex, problems: Mapping[str, str]) -> None:
        """Set the baseline and emit `server_started`, after which readers must reload the agent list."""
        self._has_started = True
        self._live, self._expected, self._problems = _by_id(index.live), _expected(index), dict(problems)
        self._journal.add("server_started", live_agents=len(self._live))

    def update(self, index: AgentIndex, problems: Mapping[str, str]) -> None:
        """Emit the changes since the last update."""
        if not self._has_started:
            return
        before, self._live = self._live, _by_id(index.live)
        expected, self._expected = self._expected, _expected(index)
        for agent_id in sorted(self._live.keys() - before.keys()):
            self._emit("agent_appeared", self._live[agent_id])
        stopped = expected.keys() - self._expected.keys()
        for agent_id in sorted(before.keys() - self._live.keys() - stopped):
            self._emit("agent_gone", before[agent_id])
        for agent_id in sorted(stopped):
            self._emit("agent_stopped", expected[agent_id])
        self._update_problems(problems)

    def _update_problems(self, problems: Mapping[str, str]) -> None:
        before, self._problems = self._problems, dict(problems)
        for agent_id, problem in sorted(self._problems.items()):
            if before.get(agent_id) != problem:
                self._journal.add("record_problem", agent_id=agent_id, problem=problem)
        for agent_id in sorted(before.keys() - self._problems.keys()):
            self._journal.add("record_mended", agent_id=agent_id)

    def _emit(self, kind: str, member: Member) -> None:
        identity = member.identity
        self._journal.add(
            kind,
            agent_id=member.tracked_agent_id,
            agent_name=identity.agent_name,
            tool=identity.tool,
            transport=identity.transport,
        )


def _expected(index: AgentIndex) -> dict[str, Member]:
    return _by_id([member for member in index.members if member.is_expected_to_run])


def _by_id(members: Iterable[Member]) -> dict[str, Member]:
    return {member.tracked_agent_id: member for member in members}
