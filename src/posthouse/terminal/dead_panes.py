"""Keeps dead panes from crashing tmux, and saves their last screens.

tmux 3.3a notifies the active pane of a window when the first client of its session attaches and when the last
one detaches, if the pane's program requested focus events (`ESC [ ? 1004 h`). It does not check that the
program still runs: after a SIGKILL or a crash the server has no terminal to write to and crashes, with every
session on it. Later versions check.

So the agent's pane gets a hook that the server itself runs when the program has ended. The hook resets the
terminal, which switches focus events off and clears the screen. The last screen is saved twice: copy mode
shows it to people who attach, and a paste buffer keeps it for `screen_text`.

There is a gap before the hook. A tmux with utempter (Debian's) ignores SIGCHLD while it removes a login
record, which is just when a program dies. If it misses the signal, the pane is dead, but the server does
not know the exit status and runs no hook until another child ends. `collect_exit_statuses` runs a child for
that.
"""

import contextlib

from posthouse.terminal import quoting
from posthouse.terminal.client import Tmux, TmuxRefused
from posthouse.terminal.pane import Pane

_HOOK = "pane-died"
_BUFFER_PREFIX = "posthouse-last-screen-"
#: A format: whether this tmux version has the bug.
MAY_CRASH = "#{m/r:^3[.][34][a-z]?$,#{version}}"
#: A program that returned 0 has restored the terminal, so its screen is kept as it is.
_FAILED = "#{!=:#{pane_dead_status},0}"
#: When it ends, the server reaps all ended children.
COLLECT_EXIT_STATUSES = ("run-shell", "true")


def install_hook(tmux: Tmux, pane: Pane) -> None:
    """Set the hook on *pane*. Other `pane-died` commands that apply to it are kept and run after ours.

    Hooks of a pane replace those of its window and of the server, so those are copied. A tmux version that
    rejects the hook runs without it. A second call changes nothing.
    """
    target = ["set-hook", "-p", "-t", pane.pane_id]
    commands = [_hook_command(pane.pane_id), *_other_commands(tmux, pane)]
    entries = [[*target, f"{_HOOK}[{index}]", command] for index, command in enumerate(commands)]
    with contextlib.suppress(TmuxRefused):
        tmux.run_all([[*target, "-u", _HOOK], *entries])


def screen_text(tmux: Tmux, pane_id: str) -> str | None:
    """The last screen of a dead pane, as `capture-pane -p -e` prints it; None if not saved."""
    try:
        return tmux.run("show-buffer", "-b", _buffer(pane_id))
    except TmuxRefused:
        return None


def forget(pane_id: str) -> list[list[str]]:
    """Commands that remove the saved screen. They succeed when there is none."""
    buffer = _buffer(pane_id)
    return [["set-buffer", "-b", buffer, "-"], ["delete-buffer", "-b", buffer]]


def lacks_exit_status(pane: Pane) -> bool:
    """Whether the pane is dead and tmux does not know how its program ended."""
    return pane.dead and pane.dead_status is None and pane.dead_signal is None


def collect_exit_statuses(tmux: Tmux) -> None:
    """Make the server collect exit statuses that it missed and run the hooks of those panes."""
    # The second one ends after the hooks that the first one caused.
    tmux.run_all([COLLECT_EXIT_STATUSES, COLLECT_EXIT_STATUSES])


def _hook_command(pane_id: str) -> str:
    target = ["-t", pane_id]
    steps = [
        ["capture-pane", "-e", "-b", _buffer(pane_id), *target],
        ["copy-mode", "-H", *target],
        ["send-keys", "-R", *target],
    ]
    applies = f"#{{&&:{MAY_CRASH},{_FAILED}}}"
    return quoting.nested(["if-shell", "-F", *target, applies, " ; ".join(map(quoting.nested, steps))])


def _other_commands(tmux: Tmux, pane: Pane) -> list[str]:
    for scope in (["-p", "-t", pane.pane_id], ["-w", "-t", pane.window_id], ["-g", "-w"]):
        with contextlib.suppress(TmuxRefused):
            rows = tmux.run("show-hooks", *scope, _HOOK).splitlines()
            commands = [command for row in rows if (command := row.partition(" ")[2])]
            if commands:
                return [command for command in commands if _BUFFER_PREFIX not in command]
    return []


def _buffer(pane_id: str) -> str:
    return f"{_BUFFER_PREFIX}{pane_id}"
