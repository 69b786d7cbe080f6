"""Each real CLI is killed, and whatever our commands do then, the other agents of its tmux server go on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.terminal.client import TmuxRefused
from posthouse.testing.cli_rig import Place
from posthouse.testing.delivery import subjects
from posthouse.testing.scripted_agents import House
from posthouse.testing.waiting import wait_for


@dataclass(frozen=True, slots=True)
class Killed:
    """One CLI with a gateway, and a scripted agent on the same tmux server."""

    house: House
    place: Place
    tool: str
    session: Session
    server_pid: str

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ours as a person would."""
        roots = self.house.agents.roots
        environment = {
            **os.environ,
            "HOUMAO_GLOBAL_REGISTRY_DIR": str(roots.registry),
            "HOUMAO_GLOBAL_RUNTIME_DIR": str(roots.runtime),
            "HOUMAO_GLOBAL_MAILBOX_DIR": str(roots.mailbox),
            "POSTHOUSE_TMUX_SOCKET": str(self.place.server.socket),
        }
        program = str(Path(sys.executable).parent / "posthouse")
        return subprocess.run(
            [program, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def ask(self, *words: str) -> Any:
        done = self.command(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def kill_program(self, number: int) -> None:
        """Kill the CLI once it is ready, with a control client of its gateway attached."""
        wait_for(lambda: self.ask("agents", "state", self.tool)["turn"]["phase"] == "ready")
        name = self.session.tmux_session_name
        wait_for(lambda: bool(self.session.tmux.run("list-clients", "-t", f"={name}:")))
        pid = terminal.agent_pane(self.session.tmux, name).pid

        def is_dead() -> bool:
            # Codex takes the first SIGSEGV for a false alarm.
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            return terminal.agent_pane(self.session.tmux, name).dead

        wait_for(is_dead)

    def neighbour_answers(self) -> bool:
        """Whether the other agent answers, on the tmux server that was there from the beginning."""
        done = self.command("agents", "prompt", "neighbour", "--wait", "[[say good day]]")
        pid = self.session.tmux.run("display-message", "-p", "#{pid}")
        return (done.returncode, done.stdout, pid) == (0, "good day\n", self.server_pid)

    def health(self) -> str:
        return self.house.agents.find(name=self.tool).health


@pytest.fixture(params=["claude", "codex", "gemini"])
def killed(request: pytest.FixtureRequest, house: House, place: Place) -> Iterator[Killed]:
    neighbour = LaunchSpec(tool="scripted", name="neighbour", working_directory=place.folder)
    house.agents.launch(neighbour)
    made = house.agents.launch(subjects.real(request.param, place.api, place.folder).spec)
    house.sessions.append(made)
    house.attach(made)
    yield Killed(house, place, request.param, made, made.tmux.run("display-message", "-p", "#{pid}"))
    for agent in house.agents.registered():
        house.agents.stop(agent)


def test_the_neighbour_of_a_killed_cli_survives_relaunch_stop_and_cleanup(killed: Killed) -> None:
    """tmux 3.3a crashed with all its agents, and the relaunch was said to have succeeded."""
    tool = killed.tool

    killed.kill_program(signal.SIGKILL)
    relaunched = killed.command("agents", "relaunch", tool)
    assert (relaunched.returncode, killed.health(), killed.neighbour_answers()) == (0, "healthy", True)
    assert relaunched.stdout.splitlines()[0] == f"relaunched  {tool} ({tool}, tui)"

    killed.kill_program(signal.SIGSEGV)
    stopped = killed.command("agents", "stop", tool)
    assert (stopped.returncode, killed.health(), killed.neighbour_answers()) == (0, "stopped", True)
    with pytest.raises(TmuxRefused):
        terminal.agent_pane(killed.session.tmux, killed.session.tmux_session_name)

    assert killed.command("agents", "relaunch", tool).returncode == 0
    killed.kill_program(signal.SIGKILL)
    cleaned = killed.command("agents", "cleanup", "--purge")
    dead = killed.house.agents.find(name=tool)
    assert (cleaned.returncode, dead.health) == (0, "degraded_missing_primary")
    assert dead.detail == "the program ended by signal 9"
    assert killed.neighbour_answers()
    # What a person does with plain tmux: the gateway's client leaves, and comes again.
    killed.session.tmux.run("detach-client", "-s", f"={killed.session.tmux_session_name}:")
    assert killed.neighbour_answers()
    assert killed.command("agents", "stop", tool).returncode == 0
    assert (killed.health(), killed.neighbour_answers()) == ("stopped", True)
