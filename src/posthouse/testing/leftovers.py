"""What still runs on behalf of a folder, after everybody says that it has been stopped."""

import os
from pathlib import Path

from posthouse.support.processes import Process, identify

_PROC = Path("/proc")


def users_of(folder: Path) -> list[Process]:
    """The processes that were started with *folder* in their variables, or that work in it.

    Agents detach children from their terminal and their parent; their variables they pass on.
    """
    found = (identify(int(entry.name)) for entry in _PROC.iterdir() if _uses(entry, folder))
    return [process for process in found if process is not None and process.is_alive()]


def command_line(process: Process) -> str:
    """The words that *process* was started with, a zero byte after each; empty when it has ended."""
    try:
        return (_PROC / str(process.pid) / "cmdline").read_bytes().decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def name(process: Process) -> str:
    """What the kernel calls *process*; empty when it has ended."""
    try:
        return (_PROC / str(process.pid) / "comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _uses(entry: Path, folder: Path) -> bool:
    if not entry.name.isdecimal() or int(entry.name) == os.getpid():
        return False
    try:
        variables = (entry / "environ").read_bytes()
        working_directory = (entry / "cwd").readlink()
    except OSError:  # it has just ended, or is another user's
        return False
    return os.fsencode(folder) in variables or working_directory.is_relative_to(folder)
