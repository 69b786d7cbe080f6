"""A program's environment variables in a file that only its owner can read, and the program's start.

tmux keeps the arguments of its commands and shows them to every client, so they contain no secret variables:
the pane first runs `launcher.py`, which reads the file and replaces itself by the program.
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


def read(path: Path) -> dict[str, str]:
    """The variables in *path*, a JSON object of strings.

    Raises:
        Conflict: `bad_variables_file`: it is missing, belongs to another user, is readable by others, or has
            other content.
    """
    try:
        stored = untrusted_files.read_own_json(path)
        is_open_to_others = path.lstat().st_mode & 0o077
    except FileNotFoundError:
        raise _bad_file(f"{path}, which has the variables of the program, is missing") from None
    except OSError as error:
        raise _bad_file(f"{path} can't be read: {error.strerror}") from error
    except untrusted_files.UnsafeFile as error:
        raise _bad_file(str(error)) from error
    except ValueError as error:
        raise _bad_file(f"{path} does not hold variables: {error}") from error
    if is_open_to_others:
        raise _bad_file(f"{path} is open to other users: run chmod 600 on it")
    if not isinstance(stored, dict) or not all(isinstance(value, str) for value in stored.values()):
        raise _bad_file(f"{path} does not hold variables")
    variables.check(stored)
    return stored


def launch_command(path: Path, argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs *argv* with the variables in *path*, which override inherited ones."""
    return (sys.executable, "-I", "-S", str(_LAUNCHER), str(path), *argv)


def is_launcher(words: Sequence[str]) -> bool:
    """Whether *words* is a command line of `launch_command`, so that the program is not running yet."""
    return list(words[1:4]) == ["-I", "-S", str(_LAUNCHER)]


def exec_program(path: str, argv: Sequence[str]) -> int:
    """Replace this process by *argv* with the variables in *path*.

    On failure it writes one line to stderr and returns an exit code.
    """
    import signal  # the command line does not need it

    try:
        environment = _with_variables(read(Path(path)))
        # Python ignores these two signals, and the program would inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, environment)  # type: ignore[arg-type]  # bytes are taken, too
    except OSError as error:
        reason = error.strerror or str(error)
    except (PosthouseError, ValueError) as error:
        reason = str(error)
    sys.stderr.write(f"posthouse: cannot start {argv[0]}: {reason}\n")
    return _CANNOT_START


def _bad_file(message: str) -> Conflict:
    """The error for an unusable file. *message* must not contain values of variables."""
    return Conflict(message, code="bad_variables_file")


def _with_variables(values: Mapping[str, str]) -> dict[bytes, bytes]:
    """The initial environment of this process, with *values*.

    Not `os.environ`: without a locale Python adds a variable to it.
    """
    given = Path("/proc/self/environ").read_bytes().split(b"\0")
    inherited = dict(item.split(b"=", 1) for item in given if b"=" in item)
    return {**inherited, **{os.fsencode(name): os.fsencode(value) for name, value in values.items()}}
