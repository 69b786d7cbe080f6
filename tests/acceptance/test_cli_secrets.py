"""What agents are given in confidence, and where it must not be found."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posthouse.terminal.client import Server, Tmux
from posthouse.testing import tmux_log

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

#: Of the secrets and of all texts that the test gives.
_MARK = "c0nfidential"
_SECRET = f"{_MARK}-{'k' * 40}"


@pytest.fixture
def server(posthouse: "Commands") -> Server:
    """The tmux server of the agents, which outlives them and forgets no command."""
    server = Server(posthouse.environment["POSTHOUSE_TMUX_SOCKET"])
    tmux_log.keep(server)
    return server


def _marked(server: Server) -> list[str]:
    """Every line with the mark that tmux tells, or that is a command line."""
    started = Tmux(server).run("list-panes", "-a", "-F", "#{pane_start_command}")
    lines = [*tmux_log.read(server).splitlines(), *started.splitlines(), *_command_lines()]
    return [line for line in lines if _MARK in line]


def _command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return found


def test_neither_secrets_nor_prompts_are_in_tmux_or_a_command_line(
    posthouse: "Commands", server: Server, tmp_path: Path
) -> None:
    """Not at the start, with prompts and keys, after a relaunch, nor when the agents have stopped."""
    env_file = tmp_path / "keys.env"
    env_file.write_text(f"TOKEN={_SECRET}\n")
    caller = {"TOKEN": _SECRET}
    launch = ("agents", "launch", "--tool", "scripted", "--name")
    posthouse.ok(*launch, "tui", "--env-file", str(env_file))
    posthouse.ok(*launch, "turns", "--headless", "--env", "TOKEN", more=caller)
    answers = []
    for time in ("first", "second"):
        for name in ("tui", "turns"):
            posthouse.ok("agents", "prompt", name, "--wait", f"[[say {time}]] {_MARK}")
            answers.append(posthouse.ok("agents", "prompt", name, "--wait", "[[secret TOKEN]]"))
            if time == "first":
                assert _marked(server) == []
                posthouse.ok("agents", "relaunch", name)
    posthouse.ok("agents", "gateway", "send-keys", "tui", "--sequence", f"{_MARK}<[Enter]>")
    posthouse.ok("agents", "stop", "tui")
    posthouse.ok("agents", "stop", "turns")

    assert [hashlib.sha256(_SECRET.encode()).hexdigest()[:8] in answer for answer in answers] == [True] * 4
    assert "load-buffer" in tmux_log.read(server)
    assert _marked(server) == []
