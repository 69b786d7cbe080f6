"""Error output of commands, and their exit codes."""

from posthouse.cli.output import Style, encode, write_stderr
from posthouse.contracts import names
from posthouse.errors import PosthouseError

FAILED = 1
USAGE = 2


class UsageError(PosthouseError):
    """The command line is invalid; *usage* shows the valid form."""

    code = "usage"

    def __init__(self, message: str, *, usage: str = "") -> None:
        super().__init__(message)
        self.usage = usage


def report(error: Exception, style: Style, *, debug: bool) -> int:
    """Write *error* to stderr in *style* and return its exit code."""
    if debug:
        import traceback

        write_stderr("".join(traceback.format_exception(error)).rstrip("\n"))
    code, message = _code_and_message(error, debug)
    if style == "json":
        write_stderr(encode({"error": {"code": code, "message": message}}))
    else:
        usage = error.usage if isinstance(error, UsageError) else ""
        write_stderr(f"{usage}error: {message}")
    return USAGE if isinstance(error, UsageError) else FAILED


def _code_and_message(error: Exception, debug: bool) -> tuple[str, str]:
    if isinstance(error, PosthouseError):
        return error.code, str(error)
    from posthouse.support import system_errors  # imported only on failure

    if (refused := system_errors.translate(error)) is not None:
        return refused.code, str(refused)
    pointer = "" if debug else f"; set {names.DEBUG}=1 for the traceback"
    return "unexpected", f"unexpected {type(error).__name__}: {_one_line(str(error))}{pointer}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
