"""The entry point: runs one command and turns exceptions into an error line and an exit code."""

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
        # Before any import: agents call this often.
        print(f"posthouse {__version__}")
        return 0
    return _run_command(arguments)


def _run_command(arguments: list[str]) -> int:
    from posthouse.cli import dispatch
    from posthouse.cli.wiring import Wiring

    wiring = Wiring.of_process()
    if isinstance(sys.stdout, TextIOWrapper):
        # Characters that the terminal's encoding lacks are written as escapes.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = dispatch.run(wiring.prog(program_name()), arguments, wiring)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _discard_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the edge: people get a line, not a traceback
        from posthouse.cli import error_output

        return error_output.report(error, wiring.style_of(arguments), debug=wiring.debug)


def program_name() -> str:
    """The name the program was called by, as messages show it."""
    name = sys.argv[0].rpartition("/")[2]
    return name if name and name != "__main__.py" else "posthouse"


def _discard_stdout() -> None:
    # The interpreter flushes stdout again at exit and would report the same broken pipe.
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
