"""What a program that was killed leaves behind in a real tmux, and who may touch it."""

import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from posthouse.terminal import client, dead_panes, session
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.pane import Pane
from posthouse.testing.waiting import wait_for

_SIGNALS = [signal.SIGKILL, signal.SIGSEGV]
_FOCUS_ON = "printf '\\033[?1004h'"
_ALTERNATE_SCREEN = "printf '\\033[?1049h'"


@pytest.fixture
def tmux(tmux_server: Server) -> Tmux:
    """A server with a session that has to survive."""
    tmux = Tmux(tmux_server)
    tmux.run("new-session", "-d", "-s", "neighbour", "sleep", "infinity")
    return tmux


def _program(tmux: Tmux, setup: str = _FOCUS_ON, name: str = "gpu") -> Pane:
    """An agent's session; its program has done *setup*, has shown its words, and waits."""
    pane = session.create(tmux, name, working_directory=Path("/"), environment={})
    script = f"{setup}; echo first; echo; echo last words; exec sleep infinity"
    argv = ["/bin/sh", "-c", script]
    started = session.start_program(tmux, pane, argv, environment={}, working_directory=Path("/"))
    wait_for(lambda: "last words" in session.capture(tmux, started.pane_id).rows)
    return started


def _kill(tmux: Tmux, pane: Pane, number: int = signal.SIGKILL) -> Pane:
    """Kill the program; the pane once tmux has run the hook."""
    os.kill(pane.pid, number)

    def is_known() -> bool:
        now = session.agent_pane(tmux, pane.session_name)
        return now.dead_signal == number and now.in_mode

    wait_for(is_known)
    return session.agent_pane(tmux, pane.session_name)


@contextmanager
def _control_client(tmux: Tmux) -> Iterator[None]:
    command = [*client.program(tmux.server), "-N", "-C", *client.attach_command("gpu", output=True)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: bool(tmux.run("list-clients", "-t", "=gpu:")))
        try:
            yield
        finally:
            process.kill()


@contextmanager
def _person(tmux: Tmux) -> Iterator[None]:
    ours, theirs = pty.openpty()
    argv = ["tmux", "-u", "-S", str(tmux.server.socket), "attach", "-t", "=gpu:"]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        try:
            wait_for(lambda: bool(tmux.run("list-clients", "-t", "=gpu:")))
            yield
        finally:
            process.kill()
            process.wait()
            os.close(ours)


def _attach(tmux: Tmux) -> None:
    with _control_client(tmux):
        pass


def _attach_as_a_person(tmux: Tmux) -> None:
    with _person(tmux):
        pass


def _select_another_window(tmux: Tmux) -> None:
    tmux.run("new-window", "-t", "=gpu:", "sleep", "infinity")
    tmux.run("select-window", "-t", "=gpu:0")


#: Whether a control client was attached when the program died, and what is done then with plain tmux.
_ACTS: dict[str, tuple[bool, Callable[[Tmux], object]]] = {
    "first control client attaches": (False, _attach),
    "person attaches": (False, _attach_as_a_person),
    "control client detaches": (True, lambda tmux: tmux.run("detach-client", "-s", "=gpu:")),
    "kill-session": (True, lambda tmux: tmux.run("kill-session", "-t", "=gpu:")),
    "kill-window": (True, lambda tmux: tmux.run("kill-window", "-t", "=gpu:0")),
    "respawn-pane": (True, lambda tmux: tmux.run("respawn-pane", "-k", "-t", "=gpu:0", "sleep", "infinity")),
    "select-window": (True, _select_another_window),
}


@pytest.mark.parametrize("number", _SIGNALS)
@pytest.mark.parametrize("act", _ACTS)
def test_whatever_is_done_to_a_dead_pane_the_server_survives(tmux: Tmux, act: str, number: int) -> None:
    """tmux 3.3a crashes without the hook when clients come to such a pane, or leave it."""
    is_attached, do = _ACTS[act]
    server_pid = tmux.run("display-message", "-p", "#{pid}")
    pane = _program(tmux)
    with ExitStack() as stack:
        if is_attached:
            stack.enter_context(_control_client(tmux))
        _kill(tmux, pane, number)
        do(tmux)

    assert tmux.run("display-message", "-p", "-t", "=neighbour:", "#{pid} #{pane_dead}") == f"{server_pid} 0"


@pytest.mark.parametrize(
    "screen", [_FOCUS_ON, f"{_FOCUS_ON}; {_ALTERNATE_SCREEN}"], ids=["normal", "alternate"]
)
def test_the_last_screen_is_kept(tmux: Tmux, screen: str) -> None:
    """Our commands read it as it was, with the blank line in the middle."""
    pane = _kill(tmux, _program(tmux, screen))

    shown = session.capture(tmux, pane.pane_id)

    assert (shown.dead, shown.rows[:4]) == (True, ("first", "", "last words", ""))


def test_a_person_who_attaches_sees_the_last_screen(tmux: Tmux) -> None:
    """Copy mode shows it; its text is there to be copied."""
    pane = _kill(tmux, _program(tmux, f"{_FOCUS_ON}; {_ALTERNATE_SCREEN}"))

    for key in ("history-top", "select-line", "copy-selection-and-cancel"):
        tmux.run("send-keys", "-X", "-t", pane.pane_id, key)

    assert tmux.run("show-buffer").rstrip() == "first"


def test_a_program_that_returned_0_keeps_its_screen_in_the_pane(tmux: Tmux) -> None:
    """It has restored the terminal itself: people find no copy mode there."""
    pane = session.create(tmux, "gpu", working_directory=Path("/"), environment={})
    argv = ["/bin/sh", "-c", "echo done"]
    session.start_program(tmux, pane, argv, environment={}, working_directory=Path("/"))

    wait_for(lambda: session.agent_pane(tmux, "gpu").dead_status == 0)

    assert tmux.run("capture-pane", "-p", "-t", pane.pane_id).strip() == "done"
    assert not session.agent_pane(tmux, "gpu").in_mode


def test_hooks_of_the_user_still_run(tmux: Tmux) -> None:
    """Those of the server are copied, whatever is in them; a second guard changes nothing."""
    tmux.run("set-hook", "-g", "pane-died", "set-option -g @global \"a;b 'c' #{pane_id} \\$HOME\"")
    tmux.run("set-hook", "-ga", "pane-died", "set-option -gF @second '#{pane_dead_signal}'")
    pane = _program(tmux)
    hooks = tmux.run("show-hooks", "-p", "-t", pane.pane_id, "pane-died").splitlines()

    dead_panes.install_hook(tmux, pane)
    again = tmux.run("show-hooks", "-p", "-t", pane.pane_id, "pane-died").splitlines()
    _kill(tmux, pane)

    assert (len(hooks), again) == (3, hooks)
    wait_for(lambda: tmux.run("show-options", "-gqv", "@second") == "9")
    assert tmux.run("show-options", "-gv", "@global") == "a;b 'c' #{pane_id} $HOME"


def test_a_window_with_hooks_of_its_own_keeps_them(tmux: Tmux) -> None:
    """A session that is joined may have them, and tmux prefers them to those of the server."""
    tmux.run("set-hook", "-g", "pane-died", "set-option -g @global yes")
    tmux.run("set-hook", "-w", "-t", "=neighbour:", "pane-died", "set-option -g @window yes")
    pane = session.agent_pane(tmux, "neighbour")
    tmux.run("set-option", "-w", "-t", "=neighbour:", "remain-on-exit", "on")

    dead_panes.install_hook(tmux, pane)
    _kill(tmux, pane)

    wait_for(lambda: tmux.run("show-options", "-gqv", "@window") == "yes")
    assert tmux.run("show-options", "-gqv", "@global") == ""


def test_nothing_of_the_last_screen_outlives_the_session(tmux: Tmux) -> None:
    """A session that we end takes the kept screen with it, and other buffers stay."""
    tmux.run("set-buffer", "-b", "of-the-user", "text")
    _kill(tmux, _program(tmux))

    session.kill(tmux, "gpu")

    assert tmux.run("list-buffers", "-F", "#{buffer_name}") == "of-the-user"


@pytest.mark.parametrize(
    ("version", "is_guarded"),
    [
        ("3.2a", "0"),
        ("3.3", "1"),
        ("3.3a", "1"),
        ("3.4", "1"),
        ("3.5a", "0"),
        ("3.30", "0"),
        ("next-3.6", "0"),
    ],
)
def test_the_hook_acts_where_tmux_may_crash(tmux: Tmux, version: str, is_guarded: str) -> None:
    """A later tmux leaves a dead pane alone, and so do we."""
    condition = dead_panes.MAY_CRASH.replace("#{version}", version)

    assert tmux.run("display-message", "-p", condition) == is_guarded


def test_how_a_program_ended_is_known_every_time(tmux: Tmux) -> None:
    """tmux with utempter misses the end of one child in about ten, and asking makes it find out."""
    pane = session.create(tmux, "gpu", working_directory=Path("/"), environment={})
    known = []
    for status in range(1, 31):
        argv = ["/bin/sh", "-c", f"exit {status}"]
        session.start_program(tmux, pane, argv, environment={}, working_directory=Path("/"))
        wait_for(lambda: session.agent_pane(tmux, "gpu").dead)
        known.append(session.agent_pane(tmux, "gpu").dead_status)

    assert known == list(range(1, 31))
