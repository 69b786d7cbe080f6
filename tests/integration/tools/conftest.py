"""The real agent CLIs without a network: a scripted model API, homes of their own, and variables for both.

A test that asks for one of these needs the CLIs that `./test` installs, and fails without them.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.sessions.agents import Agents
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.support import processes
from posthouse.terminal.client import Server
from posthouse.testing import clis, leftovers
from posthouse.testing.cli_rig import Place
from posthouse.testing.model_api import ModelApi, running
from posthouse.testing.scripted_agents import House
from posthouse.testing.timeout_diagnostics import transcripts_below
from posthouse.testing.waiting import LIMIT_SECONDS


@pytest.fixture(scope="session")
def agent_clis() -> Path:
    """The folder of the installed CLIs; `posthouse.testing.clis` knows its way around there."""
    return clis.folder(os.environ)


@pytest.fixture
def model_api() -> Iterator[ModelApi]:
    """A model API of the test's own, that answers as the prompts tell it and records what it was asked."""
    with running() as api:
        yield api


@pytest.fixture
def cli_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the homes and projects of CLIs; what still runs with it at the end is killed.

    Their temporary files go there too: claude and codex leave some, and gemini its reports of errors.
    """
    home = Path(tempfile.mkdtemp(prefix="posthouse-home-", dir=leftovers.homes()))
    temporary = home / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with transcripts_below(home):
        yield home
    # Again until there is none: a hook may be forked between the look and the kill.
    while left := leftovers.users_of(home):
        processes.signal_all(left, signal.SIGKILL)
        assert processes.wait_gone(left, seconds=LIMIT_SECONDS) == []
    shutil.rmtree(home)


@pytest.fixture
def cli_environment(agent_clis: Path, model_api: ModelApi, cli_home: Path) -> Callable[[str], dict[str, str]]:
    """The whole environment for one CLI, by its name: on PATH, turned to `model_api`, and to nobody else.

    Its own home (`CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME`) is left to the test. Codex takes the
    address from its configuration: `clis.codex_config(model_api.base_url)`.
    """

    def environment(tool: str) -> dict[str, str]:
        return {
            "PATH": clis.search_path(agent_clis, os.environ["PATH"]),
            "HOME": str(cli_home),
            "TMPDIR": os.environ["TMPDIR"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **clis.NO_NETWORK,
            **clis.offline_variables(tool, model_api.base_url),
        }

    return environment


@pytest.fixture
def place(
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    """Where one CLI can be run by the product's own layers, which find it on PATH."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))
    return Place(folder=cli_home, server=tmux_server, api=model_api)


@pytest.fixture
def house(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Where real CLIs are launched with mailboxes, our own commands being on their PATH."""
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    # Codex runs commands in a login shell, which makes PATH anew.
    (place.folder / ".bash_profile").write_text(f'export PATH="{own}:$PATH"\n')
    roots = Roots(
        registry=place.folder / "registry",
        runtime=place.folder / "runtime",
        mailbox=place.folder / "mailbox",
    )
    registry = Registry(roots.registry)
    agents = Agents(roots, registry, place.server, GatewaySessionHooks())
    made = House(agents=agents, registry=registry, folder=place.folder)
    yield made
    made.end()
