"""What a test run or a bench leaves behind: processes, and files in its temporary folders.

    python -m posthouse.testing.leftovers FOLDER …

names and ends what still runs on behalf of the folders, names the files in them, and exits 1 if there is any.
A run has temporary folders of its own (`TMPDIR`, `TMUX_TMPDIR`, `POSTHOUSE_TEST_HOMES`), so other runs are
not looked at.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from posthouse.support import processes
from posthouse.support.processes import Process, identify

#: Where test homes of CLIs are made: not below /tmp, where codex's sandbox breaks without a word.
HOMES_VARIABLE: Final = "POSTHOUSE_TEST_HOMES"

_PROC = Path("/proc")
#: What has been told to end may need a moment.
_GRACE_SECONDS = 5.0
#: A killed process may have started, or be started again by, another.
_ROUNDS = 5
#: pytest keeps the folders of its last runs by itself, tmux the one of its sockets.
_KEPT = ("pytest-of-", "tmux-")


def homes() -> Path:
    """The folder below which homes of CLIs are made."""
    return Path(os.environ.get(HOMES_VARIABLE) or "/var/tmp")


def users_of(folder: Path) -> list[Process]:
    """The processes that were started with *folder* in their variables, or that work in it.

    Agents detach children from their terminal and their parent; their variables they pass on.
    """
    found = (identify(int(entry.name)) for entry in _PROC.iterdir() if _uses(entry, folder))
    return [process for process in found if process is not None and process.is_alive()]


def end_all(folders: Sequence[Path], *, grace_seconds: float = _GRACE_SECONDS) -> list[str]:
    """Kill what still runs on behalf of *folders*; a line for each such process and each file left there."""
    ancestors = _ancestors()
    lines: list[str] = []
    for _ in range(_ROUNDS):
        users = {one for folder in folders for one in users_of(folder) if one.pid not in ancestors}
        left = processes.wait_gone(users, seconds=grace_seconds)
        if not left:
            break
        lines += [f"process {one.pid}: {_description(one)}" for one in left]
        processes.signal_all(left, signal.SIGKILL)
        processes.wait_gone(left, seconds=grace_seconds)
    files = (path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()))
    return lines + [f"file {path}" for path in files if not path.name.startswith(_KEPT)]


def watched(main: Callable[[], int]) -> int:
    """What *main* returns, run with temporary folders of its own; 1 also when it leaves something behind."""
    with _folders() as folders:
        try:
            code = main()
        finally:
            left = end_all(folders)
            sys.stderr.writelines(f"left behind: {line}\n" for line in left)
    return 1 if left else code


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


def _ancestors() -> set[int]:
    """The processes above this one: they may know the folders, and are no leftovers."""
    found = set()
    pid = os.getpid()
    while pid > 1:
        found.add(pid)
        pid = int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def _description(process: Process) -> str:
    """Its command line, and the test that started it, or its working directory."""
    words = command_line(process).replace("\0", " ").strip()
    folder = _PROC / str(process.pid)
    try:
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        working_directory = (folder / "cwd").readlink()
    except OSError:
        return words
    tests = [one.partition("=")[2] for one in variables if one.startswith("PYTEST_CURRENT_TEST=")]
    return f"{words} (started in {tests[0] if tests else working_directory})"


@contextmanager
def _folders() -> Iterator[list[Path]]:
    """Temporary folders for this process and all that it starts, removed at the end."""
    before = dict(os.environ)
    with (
        tempfile.TemporaryDirectory(prefix="ph-", ignore_cleanup_errors=True) as temporary,
        tempfile.TemporaryDirectory(prefix="ph-", dir=homes(), ignore_cleanup_errors=True) as home,
    ):
        os.environ |= {"TMPDIR": temporary, "TMUX_TMPDIR": temporary, HOMES_VARIABLE: home}
        tempfile.tempdir = None  # looked up anew
        try:
            yield [Path(temporary), Path(home)]
        finally:
            os.environ.clear()
            os.environ.update(before)
            tempfile.tempdir = None


def main() -> int:
    """Print what is left behind; 1 if there is anything."""
    left = end_all([Path(word) for word in sys.argv[1:]])
    sys.stdout.writelines(f"{line}\n" for line in left)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
