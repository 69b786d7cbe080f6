"""Commands for a real tmux server, by plain processes."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posthouse.errors import Unavailable
from posthouse.terminal.client import NoServer, Server, Tmux, TmuxRefused
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

#: Anything a person or a program may send, with what tmux could stumble over made likely.
hostile = (
    st.lists(
        st.one_of(
            st.sampled_from(
                [";", "\n", "#", "#{pid}", "$HOME", "~", '"', "'", "\\", "{", "}", "%%", " ", "-", "\x1b"]
            ),
            st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
        ),
        min_size=1,
        max_size=12,
    )
    .map("".join)
    .filter(bool)
)


@pytest.fixture
def tmux(tmux_server: Server) -> Tmux:
    tmux = Tmux(tmux_server)
    tmux.run("new-session", "-d", "-s", "s", "sleep", "infinity")
    return tmux


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=hostile)
def test_hostile_text_stays_one_argument_of_a_process(tmux: Tmux, text: str) -> None:
    """What goes in by argv comes out byte for byte, and nothing else happened."""
    tmux.run("set-buffer", "-b", "x", "--", text)

    assert tmux.run("show-buffer", "-b", "x") == text.removesuffix("\n")
    assert tmux.run("list-buffers", "-F", "#{buffer_name}") == "x"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=hostile)
def test_hostile_text_stays_one_argument_of_a_pipe(tmux: Tmux, text: str) -> None:
    """What goes in by the control pipe comes out byte for byte, and nothing else happened."""
    replies = tmux.batch(
        "s",
        [
            ["set-buffer", "-b", "x", "--", text],
            ["list-buffers", "-F", "#{buffer_name}"],
            ["set-environment", "-t", "=s:", "--", "VALUE", text],
        ],
    )

    assert replies == ["", "x", ""]
    assert tmux.run("show-buffer", "-b", "x") == text.removesuffix("\n")
    assert tmux.run("show-environment", "-t", "=s:", "VALUE") == f"VALUE={text}"


def test_several_commands_are_one_step(tmux: Tmux) -> None:
    """A `;` between commands is ours, one inside an argument is text."""
    printed = tmux.run_all([["display-message", "-p", "a;"], ["display-message", "-p", ";"]])

    assert printed == "a;\n;"


def test_a_batch_answers_each_command_and_raises_the_first_failure(tmux: Tmux) -> None:
    """All are tried, so that the session is not left half done by a harmless failure."""
    with pytest.raises(TmuxRefused, match="can't find session: nope") as refused:
        tmux.batch("s", [["kill-session", "-t", "=nope"], ["set-environment", "-t", "=s:", "A", "1"]])

    assert refused.value.is_not_found
    assert tmux.run("show-environment", "-t", "=s:", "A") == "A=1"


def test_a_batch_for_a_missing_session_does_nothing(tmux: Tmux) -> None:
    """`s` is not taken for `session`."""
    tmux.run("new-session", "-d", "-s", "session", "sleep", "infinity")

    # Which of the two tmux says depends on whether the attach or the command comes first.
    with pytest.raises(TmuxRefused, match=r"(can't find|no such) session: =?sess"):
        tmux.batch("sess", [["set-environment", "-t", "=sess:", "A", "1"]])

    assert "A=1" not in tmux.run("show-environment", "-t", "=s:") + tmux.run(
        "show-environment", "-t", "=session:"
    )


def test_nothing_of_a_batch_is_on_a_command_line(
    tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret passes through a socket, and no process is started for it."""
    program = tmp_path / "tmux"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/seen\nexec {shutil.which("tmux")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    tmux.batch("s", [["set-environment", "-t", "=s:", "A", "secret"]])

    assert not (tmp_path / "seen").exists()


def test_without_a_server_there_is_a_clear_error(tmux_server: Server) -> None:
    """Asking a server that does not run starts none."""
    tmux = Tmux(tmux_server)

    for ask in (lambda: tmux.run("list-sessions"), lambda: tmux.batch("s", [["list-sessions"]])):
        with pytest.raises(NoServer, match="is not running"):
            ask()

    assert not Path(str(tmux_server.socket)).exists()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda tmux: tmux.run("list-sessions"), id="process"),
        pytest.param(lambda tmux: tmux.batch("frozen", [["list-sessions"]]), id="pipe"),
    ],
)
def test_a_frozen_server_is_an_error_and_leaves_no_process(
    frozen_tmux_server: Server, ask: Callable[[Tmux], object], new_children: Callable[[], list[int]]
) -> None:
    """The call ends at its time limit, and so does its client process."""
    with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"):
        ask(Tmux(frozen_tmux_server, timeout_seconds=0.3))

    assert new_children() == []


def test_a_server_knows_where_it_listens(tmux: Tmux, tmux_server: Server) -> None:
    """So that the path can be kept with a session."""
    assert tmux.socket_path() == tmux_server.socket
    assert tmux.run("display-message", "-p", "#{socket_path}") == tmux_server.socket


def test_a_caller_inside_another_server_reaches_the_one_it_means(
    tmux: Tmux, other_tmux_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`TMUX` of the surrounding server is not followed."""
    other = Tmux(other_tmux_server)
    other.run("new-session", "-d", "-s", "other", "sleep", "infinity")
    monkeypatch.setenv("TMUX", f"{other_tmux_server.socket},1,0")

    assert tmux.run("list-sessions", "-F", "#{session_name}") == "s"


def test_symbols_survive_without_a_locale(tmux: Tmux, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under cron, where nothing says UTF-8, a title keeps its symbols."""
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.setenv(name, "C")
    tmux.run("select-pane", "-t", "=s:", "-T", "✳ Ready")

    assert tmux.run("display-message", "-p", "-t", "=s:", "#{pane_title}") == "✳ Ready"


_KILLED_INSIDE = """
import os, signal, sys
from posthouse.terminal import control_script
from posthouse.terminal.client import Server, Tmux

def die(client):
    os.kill(os.getpid(), signal.SIGKILL)

control_script._Client.require_attached = die
Tmux(Server(sys.argv[1])).batch("s", [("display-message", "-p", "here")])
"""


def test_the_client_of_a_killed_process_does_not_stay(tmux: Tmux) -> None:
    """Whoever dies in the middle of a batch leaves no client in the server for the rest of its life."""
    assert tmux.server.socket is not None
    command = [sys.executable, "-c", _KILLED_INSIDE, tmux.server.socket]

    # It depends on the moment whether one would stay; so several, one after the other.
    for _ in range(6):
        died = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=LIMIT_SECONDS)
        assert died.returncode == -signal.SIGKILL

    wait_for(lambda: tmux.run("list-clients") == "")
    assert tmux.batch("s", [("display-message", "-p", "here")]) == ["here"]
