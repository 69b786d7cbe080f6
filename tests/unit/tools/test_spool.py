import json
import os
import subprocess
from pathlib import Path

import pytest

from posthouse.tools import spool


def _fire(command: str, payload: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", command], input=payload, capture_output=True, check=False)


def test_a_hook_leaves_one_whole_report(tmp_path: Path) -> None:
    """What came on stdin is found with the name of its event, and nothing else is left."""
    folder = tmp_path / "it's a $(folder)"
    folder.mkdir()

    done = _fire(spool.command(folder, "Stop"), json.dumps({"session_id": "s"}).encode())

    [(path, report)] = spool.read(folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (report.event, report.payload) == ("Stop", {"session_id": "s"})
    assert list(folder.iterdir()) == [path]
    assert path.stat().st_mode & 0o077 == 0


def test_reports_come_in_the_order_they_were_made(tmp_path: Path) -> None:
    """The oldest comes first, whatever the files are called."""
    for number, event in enumerate(("UserPromptSubmit", "PermissionRequest", "Stop")):
        _fire(spool.command(tmp_path, event), b"{}")
        [made] = [path for path in tmp_path.iterdir() if path.name.startswith(event)]
        os.utime(made, ns=(number, number))

    assert [report.event for _, report in spool.read(tmp_path)] == [
        "UserPromptSubmit",
        "PermissionRequest",
        "Stop",
    ]


def test_a_hook_never_fails_its_agent(tmp_path: Path) -> None:
    """Without its folder it says nothing, and it still gives the answer that was asked for."""
    done = _fire(spool.command(tmp_path / "gone", "Stop", answer='{"ok":1}'), b"{}")

    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"ok":1}', b"")
    assert spool.read(tmp_path / "gone") == []


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
def test_what_is_no_report_is_left_out(tmp_path: Path, content: bytes) -> None:
    """A broken file hides no other."""
    (tmp_path / "Stop.x.json").write_bytes(content)
    (tmp_path / ".half").write_bytes(b"{}")
    _fire(spool.command(tmp_path, "Stop"), b'{"a": 1}')

    assert [report.payload for _, report in spool.read(tmp_path)] == [{"a": 1}]


def test_what_is_no_plain_report_is_left_out_without_waiting_for_it(tmp_path: Path) -> None:
    """An agent can put a named pipe, a link or endless nesting there; the other reports are read."""
    os.mkfifo(tmp_path / "Stop.pipe.json")
    (tmp_path / "Stop.deep.json").write_text("[" * 100_000)
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "Stop.link.json").symlink_to(tmp_path / "secret")
    (tmp_path / "Stop.dangling.json").symlink_to(tmp_path / "none")
    (tmp_path / "Stop.good.json").write_text('{"n": 1}')

    assert [report.payload for _, report in spool.read(tmp_path)] == [{"n": 1}]
