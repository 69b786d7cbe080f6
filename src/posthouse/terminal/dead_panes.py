"""Dead panes that cannot crash tmux, and what their programs showed last.

tmux 3.3a tells the active pane of a window when the first client of its session attaches and when the last
one leaves, if the pane's program asked for focus events (`ESC [ ? 1004 h`). It does not check that the
program still runs: after a SIGKILL or a crash there is nothing to write to, and the server crashes with
every session on it. Later versions check.

So the agent's pane gets a hook that the server itself runs when the program has ended, whoever acts
afterwards. The hook resets the terminal, which switches focus events off and clears the screen. What the
screen showed is kept twice: copy mode shows it to people who attach, and a paste buffer keeps it for
`screen_text`.

There is a gap before the hook. A tmux with utempter (Debian's) ignores SIGCHLD while it removes a login
record, which is just when a program dies. If it misses the signal, the pane is dead, but the server does
not know how the program ended and runs no hook until another child ends. `collect_exit_statuses` makes one
end.
"""

import contextlib

from posthouse.terminal import quoting
from posthouse.terminal.client import Tmux, TmuxRefused
from posthouse.terminal.pane import Pane

_HOOK = "pane-died"
_BUFFER_PREFIX = "posthouse-last-screen-"
#: A format: whether this tmux has the fault.
MAY_CRASH = "#{m/r:^3[.][34][a-z]?$,#{version}}"
#: A program that returned 0 has restored the terminal, and its screen stays as it is.
_FAILED = "#{!=:#{pane_dead_status},0}"
#: Its end makes the server look for all children that ended.
COLLECT_EXIT_STATUSES = ("run-shell", "true")


def guard(tmux: Tmux, pane: Pane) -> None:
    """Set the hook on *pane*. Other `pane-died` commands that apply to it are kept and run after ours.

    tmux takes the hooks of a pane instead of those of its window and of the server, so they are copied. A
    tmux that refuses the hook does without it. A second call changes nothing.
    """
    target = ["set-hook", "-p", "-t", pane.pane_id]
    commands = [_hook_command(pane.pane_id), *_other_commands(tmux, pane)]
    entries = [[*target, f"{_HOOK}[{index}]", command] for index, command in enumerate(commands)]
    with contextlib.suppress(TmuxRefused):
        tmux.run_all([[*target, "-u", _HOOK], *entries])


def screen_text(tmux: Tmux, pane_id: str) -> str | None:
    """What the pane showed when its program ended, as `capture-pane -p -e` prints it; None if not kept."""
    try:
        return tmux.run("show-buffer", "-b", _buffer(pane_id))
    except TmuxRefused:
        return None


def forget(pane_id: str) -> list[list[str]]:
    """Commands that remove what `screen_text` reads. They succeed when there is nothing to remove."""
    buffer = _buffer(pane_id)
    return [["set-buffer", "-b", buffer, "-"], ["delete-buffer", "-b", buffer]]


def lacks_exit_status(pane: Pane) -> bool:
    """Whether the pane is dead and tmux does not know how its program ended."""
    return pane.dead and pane.dead_status is None and pane.dead_signal is None


def collect_exit_statuses(tmux: Tmux) -> None:
    """Let the server find out how its programs ended, and run the hooks of those that it did not know of."""
    # The second one ends after what the end of the first one led to.
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
