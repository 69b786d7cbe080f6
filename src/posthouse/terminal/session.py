"""The tmux session of one agent: create it, start programs in it, read it, end it.

The agent is window 0, pane 0. Targets match exactly, so that `gpu` never means `gpu2`.
"""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from posthouse.contracts.names import AGENT_WINDOW
from posthouse.errors import Conflict, InvalidInput
from posthouse.support import crashpoints, processes
from posthouse.terminal import client, control_socket, dead_panes, quoting, variable_files, variables
from posthouse.terminal import pane as panes
from posthouse.terminal.client import NoServer, Tmux, TmuxRefused
from posthouse.terminal.pane import Pane

if TYPE_CHECKING:
    from posthouse.terminal.screen import Screen

#: Occupies the pane until the agent's program replaces it. It reads its terminal and so ends with it, even
#: if the hang-up signal is lost: tmux may close a pane before the new process handles signals. Two words,
#: because tmux runs a single word in a shell.
PLACEHOLDER = ("cat", "-")
#: Sets PATH to the next argument and executes the command after it.
_WITH_PATH = ["/bin/sh", "-c", 'PATH=$0; export PATH; exec "$@"']
_HISTORY_LINES = "10000"
_START_ATTEMPTS = 5
_START_RETRY_SECONDS = 0.05
_NAME = re.compile(r"[^\s$@=!{.:#%\\\x00-\x1f\x7f][^.:#%\\\x00-\x1f\x7f]{0,199}")


class NoAgentPane(Conflict):
    """The session has no window 0, the agent's window."""

    code = "no_agent_pane"


def create(
    tmux: Tmux,
    name: str,
    *,
    working_directory: Path,
    environment: Mapping[str, str],
    columns: int = 120,
    rows: int = 40,
) -> Pane:
    """Make a detached session whose agent window waits for a program. *environment* must not be secret.

    The window keeps its size when a person attaches, and stays when its program ends.

    Raises:
        Conflict: `session_exists`: a session of that name exists; nothing was changed.
    """
    _check_folder(working_directory)
    variables.check(environment)
    _create(tmux, name, _creation_commands(name, quoting.verbatim(str(working_directory)), columns, rows))
    crashpoints.reach("tmux session made")
    set_environment(tmux, name, environment)
    pane = agent_pane(tmux, name)
    dead_panes.install_hook(tmux, pane)
    return pane


def _create(tmux: Tmux, name: str, commands: list[list[str]]) -> None:
    for attempts_left in reversed(range(_START_ATTEMPTS)):
        try:
            tmux.run_all(commands)
            return
        except TmuxRefused as error:
            if error.reason.startswith("duplicate session"):
                message = f"tmux session {name!r} exists already"
                raise Conflict(message, code="session_exists") from None
            raise
        except NoServer:
            # A server that lost its last session still accepts connections while it exits.
            if not attempts_left:
                raise
            time.sleep(_START_RETRY_SECONDS)


def _creation_commands(name: str, folder: str, columns: int, rows: int) -> list[list[str]]:
    session, window = _target(name), f"{_target(name)}0"
    size = ["-x", str(columns), "-y", str(rows)]

    def window_option(option: str, value: str) -> list[str]:
        # -q: an older tmux ignores unknown options.
        return ["set-option", "-q", "-w", "-t", window, option, value]

    return [
        ["new-session", "-d", "-s", name, "-n", AGENT_WINDOW, "-c", folder, *size, *PLACEHOLDER],
        ["set-option", "-t", session, "destroy-unattached", "off"],
        ["set-option", "-t", session, "history-limit", _HISTORY_LINES],
        *_renumber_commands(name),
        # A pane gets its history limit at creation, so the first one is replaced.
        ["new-window", "-d", "-k", "-t", window, "-n", AGENT_WINDOW, "-c", folder, *PLACEHOLDER],
        window_option("automatic-rename", "off"),
        window_option("allow-rename", "off"),
        window_option("pane-base-index", "0"),
        window_option("remain-on-exit", "on"),
        # tmux's own notice would push the program's first line off the screen.
        window_option("remain-on-exit-format", ""),
        # Fixes the size of the window, whatever clients attach.
        ["resize-window", "-t", window, *size],
    ]


def _renumber_commands(name: str) -> list[list[str]]:
    return [
        ["set-option", "-t", _target(name), "base-index", "0"],
        ["set-option", "-t", _target(name), "renumber-windows", "off"],
        ["move-window", "-r", "-t", _target(name)],
    ]


def keep_window_zero(tmux: Tmux, name: str) -> None:
    """Renumber the windows of a joined session from 0, keeping their order."""
    tmux.run_all(_renumber_commands(name))


def exists(tmux: Tmux, name: str) -> bool:
    """Whether the server has a session of exactly this name."""
    try:
        tmux.run("has-session", "-t", _target(name))
    except NoServer:
        return False
    except TmuxRefused as error:
        if error.is_not_found:
            return False
        raise
    return True


#: State of an agent's pane: the program runs, is not started yet, has ended, or there is no window 0.
PaneState = Literal["running", "waiting", "ended", "missing"]
_IS_WAITING = f"#{{==:#{{pane_start_command}},{' '.join(PLACEHOLDER)}}}"


def pane_states(tmux: Tmux) -> dict[str, PaneState]:
    """The state of the agent's pane by session name; empty when the server is not running."""
    question = f"#{{window_index}} #{{pane_index}} #{{pane_dead}} {_IS_WAITING} #{{session_name}}"
    try:
        rows = sorted(row.split(" ", 4) for row in tmux.run("list-panes", "-a", "-F", question).splitlines())
    except NoServer:
        return {}
    found: dict[str, PaneState] = {}
    for window_index, _, dead, waits, name in rows:
        # The first pane of window 0 sorts before everything else of its session.
        here = _pane_state(window_index, is_dead=dead == "1", is_waiting=waits == "1")
        found.setdefault(name, here)
    return found


def _pane_state(window_index: str, *, is_dead: bool, is_waiting: bool) -> PaneState:
    if window_index != "0":
        return "missing"
    if is_dead:
        return "ended"
    return "waiting" if is_waiting else "running"


def agent_pane(tmux: Tmux, name: str) -> Pane:
    """The first pane of window 0.

    Raises:
        NoAgentPane: The session has no window 0.
        TmuxRefused: There is no such session.
    """
    found = [pane for pane in panes_of(tmux, name) if pane.window_index == "0"]
    if not found:
        raise NoAgentPane(f"tmux session {name!r} has no window 0; relaunch the agent")
    return min(found, key=lambda pane: pane.pane_index)


def panes_of(tmux: Tmux, name: str) -> list[Pane]:
    """Every pane of every window of the session."""
    listing = ["list-panes", "-s", "-t", _target(name), "-F", panes.FORMAT]
    found = panes.parse(tmux.run(*listing))
    if not any(dead_panes.lacks_exit_status(pane) for pane in found):
        return found
    dead_panes.collect_exit_statuses(tmux)
    return panes.parse(tmux.run(*listing))


def pane_pids(tmux: Tmux, name: str) -> list[int]:
    """The pid of every pane of the session; empty when the session is gone."""
    try:
        return [pane.pid for pane in panes_of(tmux, name)]
    except NoServer:
        return []
    except TmuxRefused as error:
        if error.is_not_found:
            return []
        raise


def is_waiting(pane: Pane) -> bool:
    """Whether *pane* has no agent program yet: it runs the placeholder, or tmux is about to start one."""
    words = processes.command_line(pane.pid)
    is_placed = words == list(PLACEHOLDER) or words[:3] == _WITH_PATH
    return is_placed or words[:1] == ["tmux"] or variable_files.is_launcher(words)


def start_program(
    tmux: Tmux,
    pane: Pane,
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    working_directory: Path,
) -> Pane:
    """Replace the program of *pane* by *argv*. Returns the pane with its new process.

    *argv* and *environment* must not be secret: tmux's message log shows them. For secret variables
    *argv* is a `variable_files.launch_command`.
    """
    _check_folder(working_directory)
    start = ["respawn-pane", "-k", "-t", pane.pane_id, "-c", quoting.verbatim(str(working_directory))]
    clients = _output_clients(tmux, pane)
    replies = tmux.batch(
        pane.session_name,
        [
            # The last program's title would be read as the next one's.
            ["select-pane", "-t", pane.pane_id, "-T", ""],
            [*start, *variables.flags(environment), "--", *_program(argv, environment.get("PATH"))],
            ["display-message", "-p", "-t", pane.pane_id, panes.FORMAT],
        ],
        # A new program gets a new buffer. A tmux server that searches it for undelivered output of the old
        # program crashes with every session. A pause discards that output.
        before=[["refresh-client", "-t", name, "-A", f"{pane.pane_id}:pause"] for name in clients],
        after=[["refresh-client", "-t", name, "-A", f"{pane.pane_id}:continue"] for name in clients],
    )
    return panes.parse(replies[-1])[0]


def _output_clients(tmux: Tmux, pane: Pane) -> list[str]:
    """The names of the control clients that receive the pane's output."""
    gets_output = "#{&&:#{client_control_mode},#{!=:#{m:*no-output*,#{client_flags}},1}}"
    name = f"#{{?{gets_output},#{{client_name}},}}"
    return tmux.run("list-clients", "-t", _target(pane.session_name), "-F", name).split()


def new_window(
    tmux: Tmux,
    name: str,
    window_name: str,
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    working_directory: Path,
) -> Pane:
    """Run *argv* in another window of the session, never at index 0 and without showing it.

    *argv* and *environment* must not be secret, as in `start_program`.
    """
    _check_folder(working_directory)
    taken = {int(pane.window_index) for pane in panes_of(tmux, name)}
    index = next(number for number in range(1, len(taken) + 2) if number not in taken)
    start = ["new-window", "-d", "-t", f"{_target(name)}{index}", "-n", quoting.verbatim(window_name)]
    start += ["-c", quoting.verbatim(str(working_directory)), "-P", "-F", panes.FORMAT]
    command = [*start, *variables.flags(environment), "--", *_program(argv, environment.get("PATH"))]
    return panes.parse(tmux.batch(name, [command])[0])[0]


def set_environment(tmux: Tmux, name: str, values: Mapping[str, str | None]) -> None:
    """Set (or with None unset) variables for programs that are started later in the session."""
    variables.check({variable: value for variable, value in values.items() if value is not None})
    target = ["set-environment", "-t", _target(name)]
    commands = [
        [*target, "-u", variable] if value is None else [*target, "--", variable, value]
        for variable, value in values.items()
    ]
    if commands:
        tmux.batch(name, commands)


def environment(tmux: Tmux, name: str) -> dict[str, str]:
    """The session's own variables, without global variables that it unsets."""
    return variables.parse(tmux.run("show-environment", "-s", "-t", _target(name)))


def capture(tmux: Tmux, pane_id: str) -> "Screen":
    """The screen of the pane now."""
    return panes.screen_of(*capture_raw(tmux, pane_id))


def capture_raw(tmux: Tmux, pane_id: str) -> tuple[Pane, str]:
    """The pane now, and its `capture-pane -p -e` output; for a dead pane, its last screen."""
    text = tmux.run_all(
        [
            ["display-message", "-p", "-t", pane_id, panes.FORMAT],
            ["capture-pane", "-p", "-e", "-t", pane_id],
        ]
    )
    pane, shown = panes.split(text)
    if pane.dead and not shown.strip():
        shown = dead_panes.screen_text(tmux, pane_id) or shown
    return pane, shown


def kill(tmux: Tmux, name: str) -> None:
    """End the session, if it exists. Its programs get SIGHUP and may outlive it."""
    _kill(tmux, ["kill-session", "-t", _target(name)], ["list-panes", "-s", "-t", _target(name)])


def remove_server_socket(tmux: Tmux) -> None:
    """Remove the socket of a one-agent server without sessions, which tmux leaves behind."""
    if client.is_for_one_agent(tmux.server) and not pane_states(tmux):
        control_socket.socket_path(tmux.server).unlink(missing_ok=True)


def kill_window(tmux: Tmux, window_id: str) -> None:
    """End one window, if it exists. Its programs get SIGHUP and may outlive it."""
    _kill(tmux, ["kill-window", "-t", window_id], ["list-panes", "-t", window_id])


def _kill(tmux: Tmux, command: list[str], listing: list[str]) -> None:
    """Run the kill *command* for the panes in *listing*. All sessions and windows are killed here.

    A dead pane can crash tmux when its session is killed (`dead_panes`), and its hook may not have run yet.
    So the hook's reset runs in the same step as the kill.
    """
    try:
        pane_ids = tmux.run(*listing, "-F", "#{pane_id}").splitlines()
        resets = [["send-keys", "-R", "-t", pane_id] for pane_id in pane_ids]
        forgets = [each for pane_id in pane_ids for each in dead_panes.forget(pane_id)]
        tmux.run_all([*forgets, *resets, command])
    except NoServer:
        return
    except TmuxRefused as error:
        if not error.is_not_found:
            raise


def _target(name: str) -> str:
    """An exact target. Without the colon a command that expects a window matches names by prefix."""
    return f"={check_name(name)}:"


def check_name(name: str) -> str:
    """Return *name* if tmux accepts it unchanged.

    Raises:
        InvalidInput: `bad_session_name`: tmux would change it or interpret it as something else.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} cannot name a tmux session: 1 to 200 characters, none of '.:#%\\' or control"
            " characters, and not '$', '@', '=', '!', '{' or a space in front",
            code="bad_session_name",
        )
    return name


def _check_folder(folder: Path) -> None:
    # tmux would silently start in the home folder.
    if not folder.is_dir():
        raise InvalidInput(f"working directory {folder} does not exist")


def _program(argv: Sequence[str], path: str | None) -> list[str]:
    """A command that executes *argv* unchanged, with that PATH (None: ours).

    tmux itself would use its client's or its own PATH, depending on which client attaches first.
    """
    return [*_WITH_PATH, path or client.search_path(), *argv]
