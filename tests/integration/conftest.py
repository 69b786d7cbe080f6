"""Real tmux servers of a test's own, gone when the test is."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from posthouse.support import processes
from posthouse.terminal.client import NoServer, Server, Tmux
from posthouse.testing.timeout_diagnostics import screens_of


@pytest.fixture
def make_tmux_server() -> Iterator[Callable[[], Server]]:
    """Makes addresses of private tmux servers; each starts with its first session."""
    # Not pytest's own folder: a socket's path has room for 104 bytes.
    folder = Path(tempfile.mkdtemp(prefix="ph-"))
    made: list[Server] = []

    with ExitStack() as stack:

        def make() -> Server:
            made.append(Server(str(folder / f"tmux-{len(made)}")))
            stack.enter_context(screens_of(made[-1]))
            return made[-1]

        yield make
    for server in made:
        with suppress(NoServer):
            Tmux(server).run("kill-server")
    shutil.rmtree(folder)


@pytest.fixture
def new_children() -> Callable[[], list[int]]:
    """Asks which processes the test has started and not waited for; those of earlier tests do not count."""

    def children() -> set[int]:
        return {process.pid for process in processes.tree(os.getpid())[1:]}

    before = children()
    return lambda: sorted(children() - before)


@pytest.fixture
def tmux_server(make_tmux_server: Callable[[], Server]) -> Server:
    """A private tmux server."""
    return make_tmux_server()


@pytest.fixture
def other_tmux_server(make_tmux_server: Callable[[], Server]) -> Server:
    """A second one beside it."""
    return make_tmux_server()


@pytest.fixture
def frozen_tmux_server(make_tmux_server: Callable[[], Server]) -> Iterator[Server]:
    """One that runs and does not answer."""
    server = make_tmux_server()
    Tmux(server).run("new-session", "-d", "-s", "frozen", "sleep", "600")
    pid = int(Tmux(server).run("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)
    yield server
    os.kill(pid, signal.SIGCONT)
