"""A launcher killed at every step it takes leaves nothing, or an agent that can be listed and stopped."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.liveness import Agent
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux
from posthouse.testing.crash.calling import calling
from posthouse.testing.no_session_hooks import NoSessionHooks
from posthouse.testing.waiting import wait_for

_MOST_STEPS = 200


def _agents(root: Path, server: Server) -> Agents:
    roots = Roots(registry=root / "registry", runtime=root / "runtime", mailbox=root / "mailbox")
    return Agents(roots, Registry(roots.registry), server, NoSessionHooks())


def _launch(agents: Agents, root: Path, *, headless: bool) -> Callable[[], object]:
    spec = LaunchSpec(tool="scripted", name="gpu", headless=headless, working_directory=root)
    return partial(agents.launch, spec)


def _walk(operation: Callable[[], Callable[[], object]]) -> Iterator[int]:
    """Do what *operation* gives again and again, killed one step later each time, until it survives."""
    with calling() as caller:
        for step in range(1, _MOST_STEPS):
            if not caller.dies_at(step, operation()):
                return
            yield step
    raise AssertionError(f"it takes more than {_MOST_STEPS} steps")


def _runs(agent: Agent) -> bool:
    """Whether a program of the agent's runs in its pane."""
    if agent.session is None or agent.session.tmux_session_name not in _sessions(agent.session.tmux.server):
        return False
    pane = terminal.agent_pane(agent.session.tmux, agent.session.tmux_session_name)
    return not pane.dead and not terminal.is_waiting(pane)


def _wait_until_settled(agents: Agents, agent: Agent, step: int) -> None:
    """Wait until the program runs or the agent is not healthy: a launcher outlives the killed caller."""

    def is_settled() -> bool:
        now = agents.find(agent_id=agent.agent_id)
        return _runs(now) or now.health != "healthy"

    wait_for(is_settled, told=lambda: f"it is healthy and runs nothing after step {step}")


def _sessions(server: Server) -> frozenset[str]:
    return frozenset(terminal.pane_states(Tmux(server)))


@pytest.mark.parametrize("kind", ["headless", "tui"])
def test_a_killed_launch_leaves_nothing_or_an_agent_that_can_be_stopped(
    tmp_path: Path, tmux_server: Server, kind: str
) -> None:
    """Whatever tmux session there is belongs to a listed agent, and after a stop there is none."""
    agents = _agents(tmp_path, tmux_server)
    launch = _launch(agents, tmp_path, headless=kind == "headless")
    steps = 0
    for step in _walk(lambda: launch):
        listed = {agent.record.terminal.current_session_name for agent in agents.registered()}
        assert _sessions(tmux_server) <= listed, f"step {step}"
        for agent in agents.registered():
            if kind == "tui":
                _wait_until_settled(agents, agent, step)
            agents.stop(agent)
            agents.registry.remove(agent.agent_id)
        assert _sessions(tmux_server) == frozenset()
        steps = step

    assert steps > 20
    [survivor] = agents.registered()
    assert survivor.health == "healthy"


@pytest.mark.parametrize("operation", ["relaunch", "stop"])
def test_a_killed_relaunch_or_stop_can_be_repeated(
    tmp_path: Path, tmux_server: Server, operation: str
) -> None:
    """After each kill the agent is known, nothing else runs, and the next try gets through."""
    agents = _agents(tmp_path, tmux_server)
    _launch(agents, tmp_path, headless=False)()
    [before] = agents.registered()
    act = agents.relaunch if operation == "relaunch" else agents.stop

    for step in _walk(lambda: partial(act, agents.find(name="gpu"))):
        [agent] = agents.registered(states=None)
        assert agent.agent_id == before.agent_id
        assert _sessions(tmux_server) <= {before.record.terminal.current_session_name}, f"step {step}"
        _wait_until_settled(agents, agent, step)
        if agent.health == "stopped":
            agents.relaunch(agent)

    [after] = agents.registered(states=None)
    assert after.health == ("healthy" if operation == "relaunch" else "stopped")
    assert after.record.generation_id == before.record.generation_id
