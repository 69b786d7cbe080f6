"""A house of real agents: a registry, a runtime root and a tmux server of the test's own."""

from pathlib import Path

import pytest

from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.sessions.agents import Agents
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.terminal.client import Server


@pytest.fixture
def agents(tmp_path: Path, tmux_server: Server) -> Agents:
    roots = Roots(registry=tmp_path / "registry", runtime=tmp_path / "runtime", mailbox=tmp_path / "mailbox")
    return Agents(roots, Registry(roots.registry), tmux_server, GatewaySessionHooks())
