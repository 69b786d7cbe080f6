"""Termination of the processes in a session's terminal."""

from posthouse.errors import Unavailable
from posthouse.support import processes
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux


def close_terminal(tmux: Tmux, session_name: str) -> None:
    """Kill the tmux session and verify that none of its processes is left.

    Raises:
        Unavailable: A process did not end.
    """
    running = [process for pid in terminal.pane_pids(tmux, session_name) for process in processes.tree(pid)]
    terminal.kill(tmux, session_name)
    left = processes.end(running)
    if left:
        pids = ", ".join(str(process.pid) for process in left)
        raise Unavailable(
            f"processes {pids} of tmux session {session_name!r} would not end", code="still_alive"
        )
