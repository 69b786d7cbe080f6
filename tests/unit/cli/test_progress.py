"""Words for a person who waits."""

import io
import threading

import pytest

from posthouse.cli import progress
from posthouse.testing.waiting import LIMIT_SECONDS


class _Stderr(io.StringIO):
    """What a person reads, or a program."""

    def __init__(self, *, is_persons: bool) -> None:
        super().__init__()
        self._is_persons = is_persons
        self.was_told = threading.Event()

    def isatty(self) -> bool:
        return self._is_persons

    def flush(self) -> None:
        self.was_told.set()


def test_a_person_who_waits_is_told_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words come once it has taken a while."""
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", stderr := _Stderr(is_persons=True))

    with progress.delayed_message("waiting for it ..."):
        assert stderr.was_told.wait(LIMIT_SECONDS)

    assert stderr.getvalue() == "waiting for it ...\n"


@pytest.mark.parametrize(
    ("is_persons", "seconds"), [(True, 600.0), (False, 0.0)], ids=["who need not wait", "a program"]
)
def test_others_are_told_nothing(monkeypatch: pytest.MonkeyPatch, is_persons: bool, seconds: float) -> None:
    """A program's stderr has errors only."""
    monkeypatch.setattr(progress, "DELAY_SECONDS", seconds)
    monkeypatch.setattr("sys.stderr", stderr := _Stderr(is_persons=is_persons))

    with progress.delayed_message("waiting for it ..."):
        pass

    assert stderr.getvalue() == ""
