"""What a person or a program reads when a command could not do its work."""

from posthouse.cli.output import Style, complain, encode
from posthouse.contracts import names
from posthouse.errors import PosthouseError

FAILED = 1
USAGE = 2


class UsageError(PosthouseError):
    """The command line itself is wrong; *usage* shows the right one."""

    code = "usage"

    def __init__(self, message: str, *, usage: str = "") -> None:
        super().__init__(message)
        self.usage = usage


def report(error: Exception, style: Style, *, debug: bool) -> int:
    """Write *error* to stderr in *style* and return the exit code that goes with it."""
    if debug:
        import traceback

        complain("".join(traceback.format_exception(error)).rstrip("\n"))
    code, message = _words(error, debug)
    if style == "json":
        complain(encode({"error": {"code": code, "message": message}}))
    else:
        usage = error.usage if isinstance(error, UsageError) else ""
        complain(f"{usage}error: {message}")
    return USAGE if isinstance(error, UsageError) else FAILED


def _words(error: Exception, debug: bool) -> tuple[str, str]:
    if isinstance(error, PosthouseError):
        return error.code, str(error)
    from posthouse.support import system_errors  # only failures need it

    if (refused := system_errors.translated(error)) is not None:
        return refused.code, str(refused)
    pointer = "" if debug else f"; set {names.DEBUG}=1 for the traceback"
    return "unexpected", f"unexpected {type(error).__name__}: {_one_line(str(error))}{pointer}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
