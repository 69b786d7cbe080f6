"""Agents that each have a tmux server of their own."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from posthouse.errors import Unavailable
from posthouse.sessions import cleanup
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.terminal import control_socket
from posthouse.terminal import session as terminal
from posthouse.terminal.client import NoServer, Placement, Server, Tmux
from posthouse.testing.no_session_hooks import NoSessionHooks
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where tmux makes its sockets. Not pytest's own folder: a socket's path has room for 104 bytes."""
    with tempfile.TemporaryDirectory(prefix="ph-") as folder:
        monkeypatch.setenv("TMUX_TMPDIR", folder)
        yield Path(folder)
        for socket in Path(folder).glob("*/*"):
            if socket.is_socket():
                with suppress(NoServer):
                    Tmux(Server(str(socket))).run("kill-server")


@pytest.fixture
def agents(tmp_path: Path, sockets: Path) -> Agents:
    roots = Roots(registry=tmp_path / "registry", runtime=tmp_path / "runtime", mailbox=tmp_path / "mailbox")
    return Agents(roots, Registry(roots.registry), Placement.parse("per-agent"), NoSessionHooks())


def _launch(agents: Agents, name: str, *args: str) -> Session:
    folder = agents.roots.runtime.parent
    return agents.launch(LaunchSpec(tool="scripted", name=name, working_directory=folder, args=args))


def _kill_server(made: Session) -> None:
    pid = int(made.tmux.run("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: terminal.pane_states(made.tmux) == {})


def test_a_tmux_server_that_is_killed_takes_one_agent_with_it(agents: Agents) -> None:
    """The others go on, and the lost one comes back on its own server."""
    lost, neighbour = _launch(agents, "lost"), _launch(agents, "neighbour")
    pid = terminal.agent_pane(neighbour.tmux, neighbour.tmux_session_name).pid

    _kill_server(lost)
    after = {agent.name: agent.health for agent in agents.registered()}
    [again] = agents.relaunch_lost()

    assert after == {"lost": "stale_missing_session", "neighbour": "healthy"}
    assert isinstance(again, Session)
    assert again.tmux.server == lost.tmux.server != neighbour.tmux.server
    assert terminal.agent_pane(neighbour.tmux, neighbour.tmux_session_name).pid == pid
    for agent in agents.registered():
        assert agent.health == "healthy"
        agents.stop(agent)


def test_a_stopped_agent_leaves_no_socket(agents: Agents, sockets: Path) -> None:
    """A relaunch makes it again."""
    _launch(agents, "one")

    agents.stop(agents.find(name="one"))
    stopped = list(sockets.rglob("*posthouse*"))
    agents.relaunch(agents.find(name="one"))
    agents.stop(agents.find(name="one"))

    assert (stopped, list(sockets.rglob("*posthouse*"))) == ([], [])


def test_a_clean_up_removes_the_socket_of_a_server_that_died(agents: Agents, sockets: Path) -> None:
    """Of that agent's only."""
    lost, neighbour = _launch(agents, "lost"), _launch(agents, "neighbour")
    _kill_server(lost)

    list(cleanup.clean_up(agents))

    assert set(sockets.rglob("*posthouse*")) == {control_socket.socket_path(neighbour.tmux.server)}
    agents.stop(agents.find(name="neighbour"))


def test_a_server_with_another_session_is_left(agents: Agents) -> None:
    """A person may have made one there."""
    made = _launch(agents, "one")
    made.tmux.run("new-session", "-d", "-s", "of-a-person", "sleep", "infinity")

    agents.stop(agents.find(name="one"))

    assert list(terminal.pane_states(made.tmux)) == ["of-a-person"]
    terminal.kill(made.tmux, "of-a-person")


def test_a_launch_that_fails_leaves_no_socket(
    agents: Agents, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it leaves nothing else."""
    monkeypatch.setattr("posthouse.sessions.start.EARLY_DEATH_SECONDS", LIMIT_SECONDS)

    with pytest.raises(Unavailable, check=lambda error: error.code == "agent_died"):
        _launch(agents, "one", "--no-such-option")

    assert list(sockets.rglob("*posthouse*")) == []
