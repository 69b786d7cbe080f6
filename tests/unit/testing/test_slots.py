"""Slots for tests with vendors' CLIs."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from posthouse.testing import slots
from posthouse.testing.waiting import LIMIT_SECONDS

GIB = 1 << 30


@pytest.mark.parametrize(("cores", "memory_gib", "expected"), [(2, 24, 2), (16, 8, 4), (1, 64, 1), (8, 1, 1)])
def test_cores_and_memory_bound_what_runs_at_once(cores: int, memory_gib: int, expected: int) -> None:
    """The scarcer one decides; one always runs."""
    assert slots.count(cores, memory_gib * GIB) == expected


def test_who_finds_no_free_slot_waits_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two run beside each other, and the third begins when one of them has ended."""
    waits, noted = threading.Event(), []
    monkeypatch.setattr(slots, "time", SimpleNamespace(sleep=lambda _: waits.set()))

    def enter() -> None:
        with slots.held(tmp_path, 2):
            noted.append("third")

    third = threading.Thread(target=enter)
    with slots.held(tmp_path, 2), slots.held(tmp_path, 2):
        third.start()
        assert waits.wait(LIMIT_SECONDS)
        noted.append("first two")
    third.join(LIMIT_SECONDS)

    assert noted == ["first two", "third"]
