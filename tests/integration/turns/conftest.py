"""Turns of small shell programs, and a session that waits for them."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.terminal import session
from posthouse.terminal.client import Server, Tmux
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.turns import runner
from posthouse.turns.turn_order import Order


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Waits for a condition."""

    def wait(is_true: Callable[[], object]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_true():
            assert time.monotonic() < deadline, "it never became true"
            time.sleep(0.01)

    return wait


@pytest.fixture
def make_order(tmp_path: Path) -> Callable[..., Order]:
    """Makes orders that run a shell script; each next one has the next index."""
    indexes = iter(range(1, 1000))

    def make(script: str, **fields: Any) -> Order:
        defaults: dict[str, Any] = {
            "turn_id": runner.new_turn_id(),
            "turn_index": next(indexes),
            "tool": "scripted",
            "argv": ("/bin/sh", "-c", script),
            "working_directory": str(tmp_path),
        }
        return Order(**{**defaults, **fields})

    return make


@pytest.fixture
def turns_root(tmp_path: Path) -> Iterator[Path]:
    """Where the turns lie. What still runs at the end is ended."""
    yield tmp_path / "turns"
    for turn in runner.turns_of(tmp_path / "turns"):
        turn.kill()
        turn.end_leftovers()


@pytest.fixture
def tmux(tmux_server: Server, tmp_path: Path) -> Tmux:
    """A server with one session, `agent`, that waits for turns."""
    tmux = Tmux(tmux_server)
    session.create(tmux, "agent", working_directory=tmp_path, environment={})
    return tmux
