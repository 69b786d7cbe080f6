"""One agent's session on a real tmux server."""

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from posthouse.errors import Conflict, InvalidInput
from posthouse.support import processes
from posthouse.support.processes import wait_exit
from posthouse.terminal import client, session
from posthouse.terminal.client import Server, Tmux, TmuxRefused
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Screen
from posthouse.testing.waiting import LIMIT_SECONDS


@pytest.fixture
def tmux(tmux_server: Server) -> Tmux:
    return Tmux(tmux_server)


@pytest.fixture
def configured(tmux: Tmux, tmp_path: Path) -> Tmux:
    """A server whose owner likes things differently."""
    configuration = tmp_path / "tmux.conf"
    configuration.write_text(
        "set -t theirs destroy-unattached off\nset -g destroy-unattached on\n"
        "set -g default-command false\nset -g history-limit 10\n"
        "set -g base-index 1\nset -g pane-base-index 1\nset -g renumber-windows on\nset -g allow-rename on\n"
    )
    tmux.run("new-session", "-d", "-s", "theirs", "-x", "80", "-y", "24", "sleep", "infinity")
    tmux.run("source-file", str(configuration))
    return tmux


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.01)


def _create(tmux: Tmux, name: str = "gpu", **environment: str) -> Pane:
    return session.create(tmux, name, working_directory=Path("/"), environment=environment)


def _start(tmux: Tmux, pane: Pane, script: str, **environment: str) -> Pane:
    argv = ["/bin/sh", "-c", script]
    return session.start_program(tmux, pane, argv, environment=environment, working_directory=Path("/"))


def _window(tmux: Tmux, window_name: str) -> Pane:
    argv = ["sleep", "infinity"]
    return session.new_window(tmux, "gpu", window_name, argv, environment={}, working_directory=Path("/"))


def _shown(tmux: Tmux, pane: Pane, mark: str) -> Screen:
    """The pane's screen, once *mark* stands on it."""
    _wait(lambda: any(mark in row for row in session.capture(tmux, pane.pane_id).rows))
    return session.capture(tmux, pane.pane_id)


def test_the_placeholder_ends_with_its_terminal_without_a_hang_up() -> None:
    """tmux can close a pane so early that its process loses the signal; it must not stay for ever."""
    master, slave = pty.openpty()
    placeholder = subprocess.Popen(
        ["env", "--ignore-signal=HUP", *session.PLACEHOLDER],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    os.close(master)

    try:
        assert placeholder.wait(LIMIT_SECONDS) is not None
    finally:
        placeholder.kill()
        placeholder.wait()


def test_a_session_has_its_agent_at_window_zero(tmux: Tmux) -> None:
    """A new session is 120x40, waits, and is found by its exact name alone."""
    pane = _create(tmux)

    assert (pane.session_name, pane.window_index, pane.window_name, pane.pane_index) == (
        "gpu",
        "0",
        "agent",
        0,
    )
    assert (pane.columns, pane.rows, pane.dead, pane.in_mode) == (120, 40, False, False)
    assert session.agent_pane(tmux, "gpu") == pane
    assert (frozenset(session.pane_states(tmux)), session.exists(tmux, "gpu")) == (frozenset({"gpu"}), True)
    assert (session.exists(tmux, "gp"), session.exists(tmux, "gpu2")) == (False, False)


def test_a_users_configuration_does_not_move_the_agent(configured: Tmux) -> None:
    """Window 0 and pane 0 hold under base-index 1, and the session outlives its lack of clients."""
    pane = _create(configured)
    other = _window(configured, "gateway")

    assert (pane.window_index, pane.pane_index, other.window_index) == ("0", 0, "1")
    assert configured.run("display-message", "-p", "-t", pane.pane_id, "#{history_limit}") == "10000"
    configured.batch("gpu", [["list-windows"]])
    assert session.agent_pane(configured, "gpu") == pane
    assert configured.run("list-windows", "-t", "=gpu", "-F", "#{window_index}") == "0\n1"


def test_a_session_of_theirs_can_be_numbered_from_zero(configured: Tmux) -> None:
    """Joining a session moves its first window to 0 and keeps what runs in it."""
    configured.run("set-option", "-g", "destroy-unattached", "off")
    configured.run("new-session", "-d", "-s", "joined", "sleep", "infinity")
    configured.run("split-window", "-d", "-t", "=joined:", "sleep", "infinity")
    with pytest.raises(session.NoAgentPane):
        session.agent_pane(configured, "joined")
    before = session.pane_pids(configured, "joined")

    session.keep_window_zero(configured, "joined")

    assert session.agent_pane(configured, "joined").pid == before[0]
    assert session.pane_pids(configured, "joined") == before


def test_a_name_that_is_taken_is_not_touched(tmux: Tmux) -> None:
    """A second session of that name is refused and the first goes on."""
    pane = _create(tmux)

    with pytest.raises(Conflict, match="exists already"):
        _create(tmux)

    assert session.agent_pane(tmux, "gpu") == pane


def test_a_missing_folder_is_the_callers_mistake(tmux: Tmux, tmp_path: Path) -> None:
    """tmux would start in the home folder instead and say nothing."""
    with pytest.raises(InvalidInput, match="does not exist"):
        session.create(tmux, "gpu", working_directory=tmp_path / "nowhere", environment={})

    assert frozenset(session.pane_states(tmux)) == frozenset()


def _folder_of(pane: Pane) -> Path:
    return Path(f"/proc/{pane.pid}/cwd").readlink()


@pytest.mark.parametrize(
    "name", ["a b", "x#{pid}", "x#(touch made-by-tmux)", "50%H", "nl\nx", "a;", "~", "é"]
)
def test_a_folder_is_only_a_folder_whatever_its_name(tmux: Tmux, tmp_path: Path, name: str) -> None:
    """Programs start in it, listings survive it, and nothing in it is expanded."""
    folder = tmp_path / name
    folder.mkdir()
    waiting = session.create(tmux, "gpu", working_directory=folder, environment={})
    _wait(lambda: _folder_of(waiting) == folder)

    pane = session.start_program(tmux, waiting, ["sleep", "9"], environment={}, working_directory=folder)
    other = session.new_window(tmux, "gpu", name, ["sleep", "9"], environment={}, working_directory=folder)

    _wait(lambda: [_folder_of(pane), _folder_of(other)] == [folder] * 2)
    assert [each.pid for each in session.panes_of(tmux, "gpu")] == [pane.pid, other.pid]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_program_gets_its_variables_and_no_other_program_does(tmux: Tmux) -> None:
    """They are in no environment of tmux."""
    pane = _create(tmux)

    started = _start(
        tmux, pane, 'echo "[$KEY] [$PATH] $TMUX_PANE"; exec sleep 99', KEY="s;e'c\"r#et", PATH="/bin"
    )

    assert (started.pane_id, started.pid != pane.pid) == (pane.pane_id, True)
    assert _shown(tmux, pane, "%").rows[0] == f"[s;e'c\"r#et] [/bin] {pane.pane_id}"
    assert "KEY" not in tmux.run("show-environment", "-g") + tmux.run("show-environment", "-t", "=gpu")


def test_a_program_finds_what_its_starter_finds_and_our_own_commands(
    tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever PATH the server has, an agent can call us by name, and its own tools come first."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    pane = _create(tmux)
    monkeypatch.setenv("PATH", "/opt/mine:/usr/bin:/bin")

    _start(tmux, pane, 'echo "[$PATH]"; exec sleep 99')

    shown = "".join(_shown(tmux, pane, "]").rows)
    assert shown == f"[/opt/mine:/usr/bin:/bin:{Path(sys.executable).parent}]"


@pytest.mark.parametrize("argv", [["true;"], ["a b"], ["$HOME"]], ids=["semicolon", "space", "variable"])
def test_one_word_is_a_program_and_not_a_shell_command(tmux: Tmux, tmp_path: Path, argv: list[str]) -> None:
    """tmux would give a single word to a shell."""
    program = tmp_path / argv[0]
    program.write_text('#!/bin/sh\necho "ran: $0"\nexec sleep 99\n')
    program.chmod(0o755)
    pane = _create(tmux)

    session.start_program(tmux, pane, [str(program)], environment={}, working_directory=tmp_path)

    shown = "".join(_shown(tmux, pane, "ran: ").rows)
    assert shown == f"ran: {program}"


def test_the_callers_secrets_do_not_reach_the_server(tmux: Tmux, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has to start the server gives it an environment without keys."""
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    monkeypatch.setenv("HOME", "/home/me")

    _create(tmux)

    known = tmux.run("show-environment", "-g").splitlines()
    assert [line for line in known if "hunter2" in line or line == "HOME=/home/me"] == ["HOME=/home/me"]


def test_the_environment_of_a_session_is_kept_exactly(tmux: Tmux) -> None:
    """Newlines, quotes and large values survive; programs that start later see them; unset ones are gone."""
    values = {"A": 'x\nB="1"; export B;\n$`\\', "C": "y;", "D": "-g", "E": "", "LARGE": "x" * 100_000}
    pane = _create(tmux, **values)

    assert session.environment(tmux, "gpu") == values
    _start(tmux, pane, 'echo "${#LARGE} ${#A} $D."; exec sleep 99')
    assert _shown(tmux, pane, ".").rows[0] == f"100000 {len(values['A'])} -g."

    session.set_environment(tmux, "gpu", {"A": None, "LARGE": None, "C": "z", "NEVER": None})
    assert session.environment(tmux, "gpu") == {"C": "z", "D": "-g", "E": ""}


def test_a_removed_marker_is_not_a_variable(tmux: Tmux) -> None:
    """`-NAME` in tmux hides a global variable and has no value."""
    _create(tmux, A="1")
    tmux.run("set-environment", "-t", "=gpu", "-r", "HOME")

    assert session.environment(tmux, "gpu") == {"A": "1"}


@pytest.mark.parametrize(
    ("script", "status", "number"), [("exit 0", 0, None), ("exit 3", 3, None), ("kill -9 $$", None, 9)]
)
def test_a_program_that_ends_at_once_leaves_its_pane(
    tmux: Tmux, script: str, status: int | None, number: int | None
) -> None:
    """However fast it ends, the pane stays, and says nothing wrong about how."""
    pane = _create(tmux)

    started = _start(tmux, pane, script)
    assert wait_exit(started.pid, seconds=LIMIT_SECONDS)

    _wait(lambda: session.agent_pane(tmux, "gpu").dead)
    ended = session.agent_pane(tmux, "gpu")
    assert ended.pane_id == pane.pane_id
    assert (ended.dead_status, ended.dead_signal) == (status, number)


def test_the_last_screen_of_a_program_is_kept_whole(tmux: Tmux) -> None:
    """tmux adds no notice of its own, which would push the first line away."""
    pane = _create(tmux)
    _start(tmux, pane, "stty -echo; echo last words; read -r _")
    _shown(tmux, pane, "last words")
    tmux.run("send-keys", "-t", pane.pane_id, "Enter")
    _wait(lambda: session.agent_pane(tmux, "gpu").dead)

    screen = session.capture(tmux, pane.pane_id)

    assert (screen.dead, screen.rows) == (True, ("last words", *[""] * 39))


def test_a_pane_waits_until_a_program_is_in_it(tmux: Tmux) -> None:
    """Who looks at it meanwhile can tell that what runs there is no agent."""
    empty = _create(tmux)

    _wait(lambda: processes.command_line(empty.pid) == list(session.PLACEHOLDER))
    assert session.is_waiting(empty)
    started = _start(tmux, empty, "sleep 600; exit")
    _wait(lambda: processes.command_line(started.pid) == ["/bin/sh", "-c", "sleep 600; exit"])
    assert not session.is_waiting(started)


def test_a_session_is_made_while_the_old_server_is_still_leaving(tmux: Tmux) -> None:
    """Ending the last session ends the server, and the next session starts another."""
    for _ in range(20):
        _create(tmux)
        session.kill(tmux, "gpu")

    assert _create(tmux).window_index == "0"


def test_a_dead_pane_takes_a_new_program_under_the_same_id(tmux: Tmux) -> None:
    """A relaunch keeps the pane; the title of the old program is not the new one's."""
    pane = _create(tmux)
    _start(tmux, pane, "printf '\\033]2;at work\\007'")
    _wait(lambda: session.agent_pane(tmux, "gpu").dead)

    again = _start(tmux, pane, "exec sleep 99")

    assert (again.pane_id, again.dead, again.title) == (pane.pane_id, False, "")


def test_the_window_keeps_its_name_and_its_index(tmux: Tmux) -> None:
    """A program cannot rename it, and another window never becomes window 0."""
    pane = _create(tmux)
    _start(tmux, pane, "printf '\\033kother\\033\\\\'; echo done; exec sleep 99")
    _shown(tmux, pane, "done")
    names = [session.agent_pane(tmux, "gpu").window_name]
    other = _window(tmux, "gateway")
    tmux.run("kill-window", "-t", pane.window_id)

    third = _window(tmux, "third")

    names += [each.window_name for each in session.panes_of(tmux, "gpu")]
    assert names == ["agent", "gateway", "third"]
    assert (other.window_index, third.window_index) == ("1", "2")
    with pytest.raises(session.NoAgentPane, match="relaunch"):
        session.agent_pane(tmux, "gpu")


@pytest.fixture
def small_client(tmux: Tmux, tmux_server: Server) -> Iterator[Callable[[], None]]:
    """Attaches a person whose terminal has 60 columns and 15 rows."""
    opened: list[tuple[int, subprocess.Popen[bytes]]] = []

    def attach() -> None:
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(ours, (15, 60))
        argv = ["tmux", "-u", "-S", str(tmux_server.socket), "attach", "-t", "=gpu"]
        environment = {**os.environ, "TERM": "xterm"}
        process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        opened.append((ours, process))
        os.close(theirs)
        _wait(lambda: tmux.run("list-clients", "-F", "#{client_width}x#{client_height}") == "60x15")

    yield attach
    for descriptor, process in opened:
        process.kill()
        process.wait()
        os.close(descriptor)


def test_a_person_with_a_small_window_changes_nothing_for_the_agent(
    tmux: Tmux, small_client: Callable[[], None]
) -> None:
    """The agent's pane stays 120x40, so that its screen reads the same."""
    pane = _create(tmux)
    line = "x" * 119
    _start(
        tmux,
        pane,
        f"trap 'echo resized' WINCH; echo {line}; while :; do read -r word && echo got $word; done",
    )
    _shown(tmux, pane, line)

    small_client()
    tmux.run("send-keys", "-t", pane.pane_id, "-l", "typed")
    tmux.run("send-keys", "-t", pane.pane_id, "Enter")

    screen = _shown(tmux, pane, "got typed")
    assert screen.rows[:3] == (line, "typed", "got typed")
    after = session.agent_pane(tmux, "gpu")
    assert (after.columns, after.rows) == (120, 40)


def test_copy_mode_is_seen(tmux: Tmux) -> None:
    """While a person scrolls, the pane says so; its screen is the program's, not the scrolled one."""
    pane = _create(tmux)
    _start(tmux, pane, "seq 100; echo end; exec sleep 99")
    _shown(tmux, pane, "end")
    tmux.run("copy-mode", "-t", pane.pane_id)
    tmux.run("send-keys", "-t", pane.pane_id, "-X", "history-top")

    screen = session.capture(tmux, pane.pane_id)

    assert (screen.in_mode, session.agent_pane(tmux, "gpu").in_mode, "end" in screen.rows) == (
        True,
        True,
        True,
    )


def test_a_session_ends_once_and_alone(tmux: Tmux) -> None:
    """Ending it again, or without a server, changes nothing; its neighbour stays."""
    _create(tmux, "gpu")
    _create(tmux, "gpu2")

    session.kill(tmux, "gpu")
    session.kill(tmux, "gpu")

    assert (frozenset(session.pane_states(tmux)), session.pane_pids(tmux, "gpu")) == (frozenset({"gpu2"}), [])
    session.kill(tmux, "gpu2")
    session.kill(tmux, "gpu2")
    assert (
        frozenset(session.pane_states(tmux)),
        session.exists(tmux, "gpu"),
        session.pane_pids(tmux, "gpu"),
    ) == (
        frozenset(),
        False,
        [],
    )


def test_a_session_that_is_gone_is_told_apart(tmux: Tmux) -> None:
    """Asking for its pane says that tmux does not find it."""
    _create(tmux, "gpu2")

    with pytest.raises(TmuxRefused) as refused:
        session.agent_pane(tmux, "gpu")

    assert refused.value.is_not_found


def test_one_question_tells_how_every_agent_pane_is(tmux: Tmux) -> None:
    """No program yet, one that ended, a missing window 0 and a second window are told apart."""
    for name in ("runs", "waits", "ended", "moved"):
        _create(tmux, name)
    _start(tmux, session.agent_pane(tmux, "runs"), "exec sleep infinity")
    assert wait_exit(_start(tmux, session.agent_pane(tmux, "ended"), "exit 3").pid, seconds=LIMIT_SECONDS)
    argv = ["sleep", "infinity"]
    session.new_window(tmux, "ended", "more", argv, environment={}, working_directory=Path("/"))
    tmux.run("move-window", "-s", "=moved:0", "-t", "=moved:7")

    _wait(lambda: session.agent_pane(tmux, "ended").dead)
    states = session.pane_states(tmux)

    assert states == {"runs": "running", "waits": "waiting", "ended": "ended", "moved": "missing"}


def test_without_a_server_there_are_no_agent_panes(tmux: Tmux) -> None:
    """A machine that was just started has none, and that is no error."""
    assert session.pane_states(tmux) == {}


@contextmanager
def _control_client(tmux: Tmux) -> Iterator[None]:
    """A control client of `gpu`, which counts as one that looks at it."""
    command = [*client.program(tmux.server), "-N", "-C", *client.attach_command("gpu", output=True)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        _wait(lambda: bool(tmux.run("list-clients", "-t", "=gpu:")))
        yield
        process.kill()


def test_killing_a_session_whose_program_was_killed_spares_the_server(tmux: Tmux) -> None:
    """tmux 3.3a crashes on a plain `kill-session` here, and every other session with it."""
    neighbour = _create(tmux, "neighbour")
    pane = _start(tmux, _create(tmux), "printf '\\033[?1004hasked'; exec sleep 600")
    _shown(tmux, pane, "asked")
    with _control_client(tmux):
        os.kill(pane.pid, signal.SIGKILL)
        _wait(lambda: session.agent_pane(tmux, "gpu").dead)
        session.kill(tmux, "gpu")

    assert session.agent_pane(tmux, "neighbour") == neighbour
    assert not session.exists(tmux, "gpu")
