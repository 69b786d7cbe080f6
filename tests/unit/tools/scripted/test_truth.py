"""The truth log and its reader."""

import os
from pathlib import Path

import pytest

from posthouse.testing.truth import TruthLog
from posthouse.tools.scripted.truth import TruthWriter


def test_what_is_written_is_read_in_order(tmp_path: Path) -> None:
    """Events carry their time and the process that saw them."""
    truth, log = TruthWriter(tmp_path / "deep" / "truth.jsonl"), TruthLog(tmp_path / "deep" / "truth.jsonl")
    assert log.events() == []
    truth.write("prompt", text="one")
    truth.write("interrupt")
    truth.write("prompt", text="two")

    assert log.prompts() == ["one", "two"]
    assert log.interrupts() == 1
    assert [event["pid"] for event in log.events()] == [os.getpid()] * 3


def test_waiting_in_vain_shows_the_log(tmp_path: Path) -> None:
    """A test that fails says what was there instead."""
    TruthWriter(tmp_path / "truth.jsonl").write("prompt", text="one")

    with pytest.raises(AssertionError, match=r"the log ends with .*one"):
        TruthLog(tmp_path / "truth.jsonl").wait(lambda log: log.prompts() == ["two"], seconds=0)


def test_a_log_beyond_its_bound_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that runs for months does not fill the disk."""
    # The real bound is 32 MiB.
    monkeypatch.setattr("posthouse.tools.scripted.truth._MAX_BYTES", 10)
    truth = TruthWriter(tmp_path / "truth.jsonl")
    for text in ("one", "two", "three"):
        truth.write("prompt", text=text)

    assert TruthLog(tmp_path / "truth.jsonl").prompts() == ["three"]
    assert TruthLog(tmp_path / "truth.jsonl.1").prompts() == ["two"]
