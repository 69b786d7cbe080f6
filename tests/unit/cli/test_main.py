"""The edge: exit codes and what is said on stderr."""

import errno
import json
import os
from pathlib import Path

import pytest

from posthouse import __version__
from posthouse.cli import dispatch, main
from posthouse.errors import NotFound


def _raise(error: BaseException) -> None:
    raise error


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> "Failing":
    return Failing(monkeypatch)


class Failing:
    """Makes every command raise one error. A stand-in: no command raises these on demand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def with_(self, error: BaseException) -> None:
        self._monkeypatch.setattr(dispatch, "run", lambda *_: _raise(error))


def test_version_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is one line."""
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"posthouse {__version__}\n"


def test_a_no_is_one_line_and_exit_code_1(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    """People read what was wrong, not where in our code."""
    failing.with_(NotFound("no agent is called 'x'"))

    assert main.main(["agents", "list"]) == 1
    assert capsys.readouterr() == ("", "error: no agent is called 'x'\n")


def test_a_no_is_json_for_programs(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read a code and a message from stderr."""
    failing.with_(NotFound("gone"))

    assert main.main(["--json", "agents", "list"]) == 1
    assert json.loads(capsys.readouterr().err) == {"error": {"code": "not_found", "message": "gone"}}


def test_a_usage_error_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    """The shell can tell a wrong command from one that failed."""
    assert main.main(["agents", "list", "--no-such-option"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "error: unrecognized arguments: --no-such-option"


def test_a_surprise_is_one_line_with_a_pointer(
    failing: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sees a traceback who did not ask for one."""
    monkeypatch.delenv("POSTHOUSE_DEBUG", raising=False)
    failing.with_(RuntimeError("two\nlines"))

    assert main.main(["x"]) == 1
    assert capsys.readouterr().err == (
        "error: unexpected RuntimeError: two lines; set POSTHOUSE_DEBUG=1 for the traceback\n"
    )


def test_debug_shows_the_traceback(
    failing: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """POSTHOUSE_DEBUG=1 is what the pointer promises."""
    monkeypatch.setenv("POSTHOUSE_DEBUG", "1")
    failing.with_(RuntimeError("boom"))

    assert main.main(["x"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "error: unexpected RuntimeError: boom"


def test_ctrl_c_is_130(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    """An interrupted command says nothing and tells the shell."""
    failing.with_(KeyboardInterrupt())

    assert main.main(["x"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("called", "name"),
    [("/usr/bin/houmao-mgr", "houmao-mgr"), ("posthouse", "posthouse"), ("/x/__main__.py", "posthouse")],
)
def test_messages_use_the_name_it_was_called_by(
    called: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`houmao-mgr` suggests `houmao-mgr …`."""
    monkeypatch.setattr("sys.argv", [called])

    assert main.program_name() == name


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "no space left on device: /d/f; free some space, then try again"),
        (errno.EROFS, "read-only file system: /d/f; mount it writable, then try again"),
        (
            errno.ENOENT,
            "no such file or folder: /d/f; it may have been removed, or its file system unmounted",
        ),
    ],
)
def test_what_the_disk_refuses_is_one_line_with_the_remedy(
    failing: Failing, capsys: pytest.CaptureFixture[str], number: int, told: str
) -> None:
    """Nothing of it is unexpected."""
    failing.with_(OSError(number, os.strerror(number), "/d/f"))

    assert main.main(["agents", "list"]) == 1
    assert capsys.readouterr() == ("", f"error: {told}\n")
    assert main.main(["--json", "agents", "list"]) == 1
    assert json.loads(capsys.readouterr().err) == {"error": {"code": "system_refused", "message": told}}
