"""Patience, and reading one row of the queue."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from posthouse.cli import polling
from posthouse.cli.polling import Deadline, RequestRow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A gateway root whose queue has a few rows."""
    with closing(sqlite3.connect(tmp_path / "queue.sqlite")) as queue:
        queue.execute("CREATE TABLE gateway_requests (request_id TEXT, state TEXT, error_detail TEXT)")
        queue.executemany(
            "INSERT INTO gateway_requests VALUES (?, ?, ?)",
            [("r1", "running", None), ("r2", "failed", "no"), ("r3", "completed", None)],
        )
        queue.commit()
    return tmp_path


def test_a_row_is_what_the_queue_has(root: Path) -> None:
    """A waiter sees the state and the reason, and which states are final."""
    rows = [polling.read_request(root, request_id) for request_id in ("r1", "r2", "r3", "r4")]

    assert rows == [
        RequestRow("running", None),
        RequestRow("failed", "no"),
        RequestRow("completed", None),
        None,
    ]
    assert [row.is_over for row in rows if row] == [False, True, True]


def test_no_queue_is_no_row_and_none_is_made(tmp_path: Path) -> None:
    """Looking never creates the file that only the gateway makes."""
    assert polling.read_request(tmp_path, "r1") is None
    assert list(tmp_path.iterdir()) == []


def test_a_deadline_gives_at_least_one_look() -> None:
    """However short the time, what is already there is seen."""
    assert len(list(Deadline(0).polls())) == 1
    assert Deadline(0).has_passed
    assert Deadline(None).left() is None


def test_a_named_pipe_is_no_queue_and_is_not_waited_for(tmp_path: Path) -> None:
    """Its other end is never opened."""
    os.mkfifo(tmp_path / "queue.sqlite")

    assert polling.read_request(tmp_path, "r1") is None
