"""What an application answers when its route fails."""

import asyncio
import errno
import sqlite3
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Scope

from posthouse.errors import PosthouseError
from posthouse.testing.gateway import Answer, call
from posthouse.web import app
from posthouse.web.route import Route


class Heard:
    """Remembers what was refused."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def on_invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None: ...

    def on_refused(self, scope: Scope, error: PosthouseError) -> None:
        self.codes.append(error.code)


def answer_to(error: Exception) -> tuple[Answer, list[str], Exception | None]:
    """What a route that raises *error* answers, what was noted, and what the server would log."""
    heard, answers = Heard(), list[Answer]()

    async def handler(_: None, __: None) -> Response:
        raise error

    route = Route(method="GET", path="/x", summary="", handler=handler, response=None)
    built, logged = app.build(None, [route], observer=heard), None
    try:
        asyncio.run(call(built, "GET", "/x", keep=answers.append))
    except Exception as raised:  # noqa: BLE001 - it is what the test looks at
        logged = raised
    return answers[0], heard.codes, logged


def database_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("refused")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "x", "/d"), "no space left on device: /d; free some space, then try again"),
        (OSError(errno.EROFS, "x", "/d"), "read-only file system: /d; mount it writable, then try again"),
        (
            OSError(errno.EMFILE, "x", "/d"),
            "too many open files: /d; raise the limit (`ulimit -n`), then try again",
        ),
        (database_error(13), "no space left on device; free some space, then try again"),
    ],
)
def test_what_the_disk_refuses_is_503_with_the_reason(error: Exception, reason: str) -> None:
    """Nothing is logged: it says nothing of our code."""
    answer, codes, logged = answer_to(error)

    assert (answer.status, answer.body) == (503, {"detail": reason})
    assert (codes, logged) == (["system_refused"], None)


def test_a_path_that_is_gone_is_503_and_its_traceback_is_logged() -> None:
    """A folder may have been removed, or a name of ours be wrong."""
    answer, codes, logged = answer_to(FileNotFoundError(errno.ENOENT, "x", "/d"))

    assert answer.status == 503
    assert answer.body["detail"].startswith("no such file or folder: /d; ")
    assert codes == ["system_refused"]
    assert isinstance(logged and logged.__cause__, FileNotFoundError)


@pytest.mark.parametrize("error", [RuntimeError("x"), ConnectionResetError(errno.ECONNRESET, "x")])
def test_a_fault_of_ours_is_500_without_a_word(error: Exception) -> None:
    """The log has the traceback."""
    answer, codes, logged = answer_to(error)

    assert (answer.status, answer.body) == (500, {"detail": "Internal Server Error"})
    assert (codes, logged) == ([], error)
