"""A program's variables in a file that only its owner reads, and the start of a program with them.

tmux keeps the words of its commands and shows them to every client, so variables that may be secret are in
none of them: the program's pane first runs `launcher.py`, which reads the file and becomes the program.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from posthouse.errors import Conflict, PosthouseError
from posthouse.support import untrusted_files
from posthouse.terminal import variables

_LAUNCHER = Path(__file__).with_name("launcher.py")
_CANNOT_START = 127


class BadVariablesFile(Conflict):
    """The file with a program's variables can't be used; the message says why, and has no value."""

    code = "bad_variables_file"


def read(path: Path) -> dict[str, str]:
    """The variables in *path*: a JSON object with texts.

    Raises:
        BadVariablesFile: It is missing, belongs to another user, is open to others, or holds something else.
    """
    try:
        stored = untrusted_files.read_own_json(path)
        is_open_to_others = path.lstat().st_mode & 0o077
    except FileNotFoundError:
        raise BadVariablesFile(f"{path}, which has the variables of the program, is missing") from None
    except OSError as error:
        raise BadVariablesFile(f"{path} can't be read: {error.strerror}") from error
    except untrusted_files.UnsafeFile as error:
        raise BadVariablesFile(str(error)) from error
    except ValueError as error:
        raise BadVariablesFile(f"{path} does not hold variables: {error}") from error
    if is_open_to_others:
        raise BadVariablesFile(f"{path} is open to other users: run chmod 600 on it")
    if not isinstance(stored, dict) or not all(isinstance(value, str) for value in stored.values()):
        raise BadVariablesFile(f"{path} does not hold variables")
    variables.check(stored)
    return stored


def launch_command(path: Path, argv: Sequence[str]) -> tuple[str, ...]:
    """The command that becomes *argv* with the variables in *path*, which win over those it inherits."""
    return (sys.executable, "-I", "-S", str(_LAUNCHER), str(path), *argv)


def is_launcher(words: Sequence[str]) -> bool:
    """Whether the command line *words* is that of `launch_command`, so that its program is still to come."""
    return list(words[1:4]) == ["-I", "-S", str(_LAUNCHER)]


def become(path: str, argv: Sequence[str]) -> int:
    """Replace this process by *argv* with the variables in *path*. Returns an exit code when that fails.

    The reason is then on stderr, as one line.
    """
    import signal  # the command line never becomes another program

    try:
        environment = _with_variables(read(Path(path)))
        # Python ignores these two, and the program would inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, environment)  # type: ignore[arg-type]  # bytes are taken, too
    except OSError as error:
        reason = error.strerror or str(error)
    except (PosthouseError, ValueError) as error:
        reason = str(error)
    sys.stderr.write(f"posthouse: cannot start {argv[0]}: {reason}\n")
    return _CANNOT_START


def _with_variables(values: Mapping[str, str]) -> dict[bytes, bytes]:
    """The environment that this process was given, with *values*.

    Not `os.environ`: without a locale Python adds a variable of its own to it.
    """
    given = Path("/proc/self/environ").read_bytes().split(b"\0")
    inherited = dict(item.split(b"=", 1) for item in given if b"=" in item)
    return {**inherited, **{os.fsencode(name): os.fsencode(value) for name, value in values.items()}}
