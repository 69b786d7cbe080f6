"""Who came and who went, as the journal tells it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from posthouse.events.journal import Journal, read_events
from posthouse.server.agent_index import AgentIndex
from posthouse.server.lifecycle_events import LifecycleEvents
from posthouse.server.member import Member
from posthouse.terminal.client import Server
from posthouse.testing import members

SERVER = Server("test")
NOTHING: Mapping[str, str] = {}


def member(name: str, *, is_meant_to_run: bool = True) -> Member:
    record = members.record(name)
    if not is_meant_to_run:
        stopped = msgspec.structs.replace(
            record.lifecycle, state="stopped", stopped_at="2026-11-15T10:00:00+00:00"
        )
        terminal = msgspec.structs.replace(record.terminal, current_session_name=None)
        record = msgspec.structs.replace(record, lifecycle=stopped, terminal=terminal, liveness=None)
    return Member(record=record, session_id=None, server=SERVER)


def roster(*there: Member, sessions: Iterable[str]) -> AgentIndex:
    return AgentIndex(there, {SERVER: frozenset(sessions)})


def told(folder: Path, *looks: tuple[AgentIndex, Mapping[str, str]]) -> list[str]:
    """What the looks behind the first one tell."""
    journal = Journal(folder / "events.jsonl")
    news = LifecycleEvents(journal)
    news.update(*looks[0])  # before it begins, nothing is news
    news.start(*looks[0])
    for look in looks[1:]:
        news.update(*look)
    journal.close()
    first, *others = read_events(journal.path)
    assert (first["kind"], first["live_agents"]) == ("server_started", len(looks[0][0].live))
    return [f"{event['kind']} {event['agent_id']}" for event in others]


def test_an_agent_comes_its_session_ends_and_it_is_stopped(tmp_path: Path) -> None:
    """Each is told once, whatever else changes."""
    looks = (
        roster(member("old"), sessions=["old"]),
        roster(member("old"), member("new"), sessions=["old", "new"]),
        roster(member("old"), member("new"), sessions=["old", "new"]),
        roster(member("old"), member("new"), sessions=["old"]),
        roster(member("old"), member("new", is_meant_to_run=False), sessions=["old"]),
    )

    assert told(tmp_path, *((look, NOTHING) for look in looks)) == [
        "agent_appeared new",
        "agent_gone new",
        "agent_stopped new",
    ]


def test_a_stop_that_is_seen_at_once_is_only_a_stop(tmp_path: Path) -> None:
    """Nobody is alarmed by a session that was meant to end; a record that is removed is a stop too."""
    before = roster(member("one"), member("two"), sessions=["one", "two"])
    after = roster(member("one", is_meant_to_run=False), sessions=[])

    assert told(tmp_path, (before, NOTHING), (after, NOTHING)) == ["agent_stopped one", "agent_stopped two"]


def test_a_record_that_can_not_be_used_is_told_until_it_can(tmp_path: Path) -> None:
    """Again only when something else is wrong with it."""
    nobody = roster(sessions=[])

    assert told(
        tmp_path,
        (nobody, {"a": "known before"}),
        (nobody, {"a": "known before", "b": "not JSON"}),
        (nobody, {"a": "known before", "b": "not JSON"}),
        (nobody, {"b": "unknown field"}),
    ) == ["record_problem b", "record_problem b", "record_mended a"]
