"""Ending what runs in a session's terminal."""

from posthouse.errors import Unavailable
from posthouse.support import processes
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux


class StillAlive(Unavailable):
    """Processes of the agent could not be ended."""

    code = "still_alive"


def close_terminal(tmux: Tmux, session_name: str) -> None:
    """Kill the tmux session and verify that nothing that ran in it is left.

    Raises:
        StillAlive: A process would not end.
    """
    running = [process for pid in terminal.pane_pids(tmux, session_name) for process in processes.tree(pid)]
    terminal.kill(tmux, session_name)
    left = processes.end(running)
    if left:
        pids = ", ".join(str(process.pid) for process in left)
        raise StillAlive(f"processes {pids} of tmux session {session_name!r} would not end")
