"""Targets on disk."""

import base64
import stat
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import notification_files as tf
from posthouse.errors import Conflict, InvalidInput, NotFound
from posthouse.gateway.notifications import targets
from posthouse.gateway.notifications.targets import TargetFiles, read_secret


def test_a_target_is_kept_until_it_is_removed(tmp_path: Path) -> None:
    """With everything that was said of it; its secret and its story go with it."""
    kept = TargetFiles(tmp_path)
    one = kept.add(["finished"], command=["true"])
    two = kept.add(["failed", "limited"], url="https://example.org/hook?a=b", timeout_seconds=5)
    kept.save_state(two.target_id, tf.TargetState(after="7-end", delivered=1))

    assert TargetFiles(tmp_path).read() == [one, two]
    assert kept.find(two.target_id) == two
    assert len(kept.secret(two.target_id)) == 32
    kept.remove(two.target_id)
    assert kept.read() == [one]
    assert sorted(path.name for path in kept.folder.iterdir()) == [tf.TARGETS, tf.LOCK]
    with pytest.raises(NotFound, match="no target"):
        kept.find(two.target_id)


def test_only_the_owner_reads_any_of_it(tmp_path: Path) -> None:
    """The secret above all; one that others could read is not used."""
    kept = TargetFiles(tmp_path)
    made = kept.add(["finished"], url="https://example.org/")

    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.folder.iterdir()} == {0o600}
    kept.secret_path(made.target_id).chmod(0o640)
    with pytest.raises(InvalidInput, match="not private to this user"):
        kept.secret(made.target_id)


def test_a_change_is_seen_by_who_looks(tmp_path: Path) -> None:
    """Without reading the file."""
    kept = TargetFiles(tmp_path)
    before = kept.stamp()
    kept.add(["finished"], command=["true"])
    after = kept.stamp()

    assert before is None
    assert after is not None
    assert kept.stamp() == after


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"command": ["true"], "url": "https://example.org/"},
        {"command": []},
        {"url": "ftp://example.org/"},
        {"url": "https://user:secret@example.org/"},
        {"url": "https:///nowhere"},
        {"url": "https://example.org/a b"},
        {"url": "https://example.org:0/"},
        {"url": "https://example.org:99999/"},
        {"url": "https://example.org/\r\nX: y"},
        {"command": ["true"], "timeout_seconds": 0},
        {"command": ["true"], "timeout_seconds": 601},
        {"command": ["true"], "occasions": []},
        {"command": ["true"], "occasions": ["sometimes"]},
    ],
    ids=str,
)
def test_what_can_not_be_told_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    """Nothing is kept then, and no password ends up in a listing."""
    occasions = given.pop("occasions", ["finished"])
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_target") as refused:
        TargetFiles(tmp_path).add(occasions, **given)

    assert refused.value.code == "bad_target"
    assert "secret@" not in str(refused.value)
    assert TargetFiles(tmp_path).read() == []


def test_there_is_a_limit(tmp_path: Path) -> None:
    """Each costs a task and perhaps a process."""
    kept = TargetFiles(tmp_path)
    for _ in range(targets.MAX_TARGETS):
        kept.add(["finished"], command=["true"])

    with pytest.raises(Conflict, match="remove one first"):
        kept.add(["finished"], command=["true"])


def test_a_secret_of_ones_own_is_taken(tmp_path: Path) -> None:
    """In the receivers' spelling or as plain text; too short is no secret."""
    path = tmp_path / "mine"
    kept = TargetFiles(tmp_path)
    spelled = b"whsec_" + base64.b64encode(b"0123456789abcdef")
    found = []
    for content in (spelled, b"0123456789abcdefg"):
        path.write_bytes(content + b"\n")
        made = kept.add(["finished"], url="https://example.org/", secret=read_secret(path))
        found.append(kept.secret(made.target_id))

    assert found == [b"0123456789abcdef", b"0123456789abcdefg"]
    path.write_bytes(b"short")
    with pytest.raises(InvalidInput, match="a secret must have 16 to 1024 characters"):
        read_secret(path)


def test_a_file_that_holds_something_else_is_not_guessed_at(tmp_path: Path) -> None:
    """Its name is in the message."""
    kept = TargetFiles(tmp_path)
    kept.folder.mkdir()
    (kept.folder / tf.TARGETS).write_text('{"schema_version": 2}')

    with pytest.raises(InvalidInput, match=tf.TARGETS):
        kept.read()
