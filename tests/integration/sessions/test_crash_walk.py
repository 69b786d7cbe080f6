"""A launcher killed at every step it takes leaves nothing, or an agent that can be listed and stopped."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.sessions.agents import Agents
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux
from posthouse.testing.waiting import LIMIT_SECONDS

_DRIVER = """
import sys
from pathlib import Path
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.support import crashpoints
from posthouse.terminal.client import Server

class NoCompanions:
    def open_mailbox(self, made): pass
    def end_turn(self, found): pass
    def detach_gateway(self, found): pass

operation, step, root, socket, kind = sys.argv[1:]
root = Path(root)
roots = Roots(registry=root / "registry", runtime=root / "runtime", mailbox=root / "mailbox")
agents = Agents(roots, Registry(roots.registry), Server(socket), NoCompanions())
crashpoints.arm(step)
if operation == "launch":
    headless = kind == "headless"
    agents.launch(LaunchSpec(tool="scripted", name="gpu", headless=headless, working_directory=root))
elif operation == "relaunch":
    agents.relaunch(agents.find(name="gpu"))
else:
    agents.stop(agents.find(name="gpu"))
"""
_MOST_STEPS = 200


class _NoCompanions:
    def open_mailbox(self, made: Session) -> None: ...

    def end_turn(self, found: Session) -> None: ...

    def detach_gateway(self, found: Session) -> None: ...


def _agents(root: Path, server: Server) -> Agents:
    roots = Roots(registry=root / "registry", runtime=root / "runtime", mailbox=root / "mailbox")
    return Agents(roots, Registry(roots.registry), server, _NoCompanions())


def _run(operation: str, step: int, root: Path, server: Server, kind: str) -> int:
    assert server.socket is not None
    command = [sys.executable, "-c", _DRIVER, operation, str(step), str(root), server.socket, kind]
    return subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_SECONDS).returncode


def _walk(operation: str, root: Path, server: Server, kind: str) -> Iterator[int]:
    """Run *operation* again and again, killed one step later each time, until it survives."""
    for step in range(1, _MOST_STEPS):
        root.mkdir(exist_ok=True)
        if _run(operation, step, root, server, kind) == 0:
            return
        yield step
    raise AssertionError(f"{operation} takes more than {_MOST_STEPS} steps")


def _sessions(server: Server) -> frozenset[str]:
    return frozenset(terminal.surfaces(Tmux(server)))


@pytest.mark.parametrize("kind", ["headless", "tui"])
def test_a_killed_launch_leaves_nothing_or_an_agent_that_can_be_stopped(
    tmp_path: Path, tmux_server: Server, kind: str
) -> None:
    """Whatever tmux session there is belongs to a listed agent, and after a stop there is none."""
    steps = 0
    for step in _walk("launch", tmp_path / "state", tmux_server, kind):
        agents = _agents(tmp_path / "state", tmux_server)
        listed = {agent.record.terminal.current_session_name for agent in agents.registered()}
        assert _sessions(tmux_server) <= listed, f"step {step}"
        for agent in agents.registered():
            agents.stop(agent)
            agents.registry.remove(agent.agent_id)
        assert _sessions(tmux_server) == frozenset()
        steps = step

    assert steps > 20
    [survivor] = _agents(tmp_path / "state", tmux_server).registered()
    assert survivor.health == "healthy"


@pytest.mark.parametrize("operation", ["relaunch", "stop"])
def test_a_killed_relaunch_or_stop_can_be_repeated(
    tmp_path: Path, tmux_server: Server, operation: str
) -> None:
    """After each kill the agent is known, nothing else runs, and the next try gets through."""
    _run("launch", _MOST_STEPS, tmp_path, tmux_server, "tui")
    agents = _agents(tmp_path, tmux_server)
    [before] = agents.registered()

    for step in _walk(operation, tmp_path, tmux_server, "tui"):
        [agent] = agents.registered(states=None)
        assert agent.agent_id == before.agent_id
        assert _sessions(tmux_server) <= {before.record.terminal.current_session_name}, f"step {step}"
        if agent.health == "stopped":
            agents.relaunch(agent)

    [after] = agents.registered(states=None)
    assert after.health == ("healthy" if operation == "relaunch" else "stopped")
    assert after.record.generation_id == before.record.generation_id
