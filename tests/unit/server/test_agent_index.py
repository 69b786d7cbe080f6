"""Finding an agent by what people call it."""

import pytest

from posthouse.contracts.manifest import Backend
from posthouse.contracts.registry import Identity, Lifecycle, Record, Runtime, Terminal
from posthouse.server.agent_index import AgentIndex, AmbiguousAgent, UnknownAgent
from posthouse.server.member import Member
from posthouse.sessions.registry import lease
from posthouse.terminal.client import Server

SERVER = Server("test")
AT = "2026-11-15T10:00:00+00:00"


def member(
    name: str,
    agent_id: str,
    *,
    backend: Backend = "local_interactive",
    session: str = "",
    is_running: bool = True,
    server: Server | None = SERVER,
) -> Member:
    session_name = session or f"HOUMAO-{name}-1"
    stopped_at = None if is_running else AT
    return Member(
        record=Record(
            schema_version=3,
            agent_name=name,
            agent_id=agent_id,
            generation_id=f"generation-{agent_id}",
            lifecycle=Lifecycle(
                state="active" if is_running else "stopped",
                relaunchable=True,
                state_updated_at=AT,
                stopped_at=stopped_at,
            ),
            identity=Identity(backend=backend, tool="scripted"),
            runtime=Runtime(manifest_path=f"/sessions/{agent_id}/manifest.json"),
            terminal=Terminal(
                current_session_name=session_name if is_running else None, last_session_name=session_name
            ),
            liveness=lease() if is_running else None,
        ),
        session_id=f"session-{agent_id}",
        server=server,
    )


def sessions(*members: Member) -> dict[Server, frozenset[str]]:
    return {SERVER: frozenset(one.tmux_session_name for one in members)}


@pytest.mark.parametrize("ref", ["a1", "gpu", "HOUMAO-gpu", "session-a1", "HOUMAO-gpu-1"])
def test_a_tui_is_found_by_every_name_of_the_contract(ref: str) -> None:
    """Id, name in both forms, session id (which is also its terminal's), tmux session."""
    gpu, other = member("gpu", "a1"), member("cpu", "a2")

    assert AgentIndex([gpu, other], sessions(gpu, other)).find(ref) is gpu


def test_a_headless_agent_is_not_its_tmux_session() -> None:
    """Only a TUI's session name is a name of the agent."""
    worker = member("worker", "a1", backend="claude_headless")
    roster = AgentIndex([worker], sessions(worker))

    assert roster.find("worker") is worker
    with pytest.raises(UnknownAgent, match="'HOUMAO-worker-1'"):
        roster.find("HOUMAO-worker-1")


def test_a_name_that_several_have_is_refused_with_their_ids() -> None:
    """Nothing is chosen silently, and each is found by its id."""
    one, two = member("gpu", "b2", session="s1"), member("HOUMAO-gpu", "b1", session="s2")
    roster = AgentIndex([one, two], sessions(one, two))

    with pytest.raises(AmbiguousAgent) as refused:
        roster.find("gpu")

    assert refused.value.facts == {"agent_ids": ["b1", "b2"]}
    assert str(refused.value) == "2 agents match 'gpu': use the agent id, b1 or b2"
    assert roster.find("b2") is one


def test_an_id_wins_over_somebody_elses_name() -> None:
    """An agent called like another's id does not stand in its way."""
    one, two = member("gpu", "a1"), member("a1", "a2")

    assert AgentIndex([one, two], sessions(one, two)).find("a1") is one


@pytest.mark.parametrize("is_running", [True, False])
def test_the_agent_of_today_has_the_name(is_running: bool) -> None:
    """One that stopped, or whose session died, gives way to one that lives."""
    old, new = member("gpu", "a1", session="old", is_running=is_running), member("gpu", "a2", session="new")
    roster = AgentIndex([old, new], sessions(new))

    assert roster.find("gpu") is new
    assert roster.live == (new,)
    assert roster.find("a1") is old


def test_a_tmux_that_does_not_answer_empties_nothing() -> None:
    """Only a server that was asked says that a session is gone."""
    gpu, unread = member("gpu", "a1"), member("lost", "a2", server=None)

    assert AgentIndex([gpu, unread], {}).live == (gpu, unread)
    assert AgentIndex([gpu, unread], {SERVER: frozenset()}).live == (unread,)


def test_an_identity_says_what_fits_its_transport() -> None:
    """A TUI has a terminal and a session name; a headless agent has neither."""
    tui = member("gpu", "a1").identity
    headless = member("worker", "a2", backend="claude_headless").identity

    assert (tui.transport, tui.session_name, tui.terminal_id, tui.runtime_session_id) == (
        "tui",
        "HOUMAO-gpu-1",
        "session-a1",
        "session-a1",
    )
    assert (headless.transport, headless.session_name, headless.terminal_id) == ("headless", None, None)
    assert headless.tmux_session_name == "HOUMAO-worker-1"
    assert tui.tmux_window_name == headless.tmux_window_name == "agent"
