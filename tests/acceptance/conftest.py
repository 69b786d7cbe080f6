"""The installed command, run as a process with state and a tmux server of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from posthouse.cli import servers
from posthouse.errors import PosthouseError
from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.sessions.agents import Agents
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.terminal.client import Server
from posthouse.testing.waiting import LIMIT_SECONDS

_BIN = Path(sys.executable).parent
#: What a test's commands may know of the surroundings.
_INHERITED = ("PATH", "LANG", "TMPDIR", "USER", "LOGNAME")


class Commands:
    """Runs `posthouse` with private roots. Everything it started is ended with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workdir = folder / "work"
        self.workdir.mkdir()
        self.environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        self.environment |= {
            "HOME": str(folder / "home"),
            "HOUMAO_GLOBAL_REGISTRY_DIR": str(folder / "registry"),
            "HOUMAO_GLOBAL_RUNTIME_DIR": str(folder / "runtime"),
            "HOUMAO_GLOBAL_MAILBOX_DIR": str(folder / "mailbox"),
            "POSTHOUSE_TMUX_SOCKET": str(folder / "tmux"),
        }

    def argv(self, *words: str, program: str = "posthouse") -> list[str]:
        return [str(_BIN / program), *words]

    def run(
        self,
        *words: str,
        program: str = "posthouse",
        stdin: str | None = None,
        more: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end, whatever its exit code."""
        return subprocess.run(
            self.argv(*words, program=program),
            input=stdin or "",
            text=True,
            capture_output=True,
            env=self.environment | (more or {}),
            cwd=self.workdir,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def start(self, *words: str, more: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        """Start one command and leave it running."""
        return subprocess.Popen(
            self.argv(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment | (more or {}),
            cwd=self.workdir,
        )

    def ok(self, *words: str, stdin: str | None = None, more: dict[str, str] | None = None) -> str:
        """What a command that must succeed printed."""
        done = self.run(*words, stdin=stdin, more=more)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *words: str) -> Any:
        """The result of a command that must succeed, as programs read it."""
        return json.loads(self.ok(*words, "--json"))

    def tmux(self, *words: str) -> str:
        """Ask the private tmux server; nothing when it does not run."""
        command = ["tmux", "-S", self.environment["POSTHOUSE_TMUX_SOCKET"], *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        ).stdout

    def end_everything(self) -> None:
        """Stop every agent with its gateway, then the tmux server. Not by commands: each costs a second."""
        roots = Roots(
            registry=self.folder / "registry",
            runtime=self.folder / "runtime",
            mailbox=self.folder / "mailbox",
        )
        server = Server(self.environment["POSTHOUSE_TMUX_SOCKET"])
        agents = Agents(roots, Registry(roots.registry), server, GatewaySessionHooks())
        for agent in agents.registered():
            with suppress(PosthouseError):  # a test may leave one that nobody can stop
                agents.stop(agent)
        servers.stop(roots.runtime)
        self.tmux("kill-server")


@pytest.fixture
def posthouse() -> Iterator[Commands]:
    """The installed command with an empty home, private roots and a private tmux server."""
    # Not pytest's own folder: a socket's path has room for 104 bytes.
    folder = Path(tempfile.mkdtemp(prefix="ph-"))
    commands = Commands(folder)
    try:
        yield commands
    finally:
        commands.end_everything()
        shutil.rmtree(folder, ignore_errors=True)
