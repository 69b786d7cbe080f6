"""The entry point: runs one command and turns whatever it raises into a line and an exit code."""

import sys
from io import TextIOWrapper

from posthouse import __version__

USAGE = 2
BROKEN_PIPE = 141  # what a shell shows for a program that SIGPIPE ended
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run the command in *argv* (default: the process's own) and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--version"]:
        # Before any import: agents ask for this all day.
        print(f"posthouse {__version__}")
        return 0
    return _guarded(arguments)


def _guarded(arguments: list[str]) -> int:
    from posthouse.cli import dispatch, wiring

    surroundings = wiring.Wiring.of_process()
    if isinstance(sys.stdout, TextIOWrapper):
        # Where the terminal's own character set lacks one, its number is better than no answer.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = dispatch.run(surroundings.prog(program_name()), arguments, surroundings)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _forget_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the edge: people get a line, not a traceback
        from posthouse.cli import error_output

        return error_output.report(error, surroundings.style_of(arguments), debug=surroundings.debug)


def program_name() -> str:
    """The name this was called by, as messages repeat it."""
    name = sys.argv[0].rpartition("/")[2]
    return name if name and name != "__main__.py" else "posthouse"


def _forget_stdout() -> None:
    # The interpreter flushes stdout once more at exit, and would complain about the same pipe.
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
