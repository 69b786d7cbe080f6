"""Records on disk: what is written is read again, and what can't be read is absent and told."""

import logging
from pathlib import Path

import pytest

from posthouse.contracts import managed_agent_files as mf
from posthouse.server.turns.store import TurnStore

LOG = logging.getLogger("test")


def record(turn_id: str = "turn-1", **more: object) -> mf.TurnRecord:
    fields = {
        "tracked_agent_id": "gpu",
        "turn_id": turn_id,
        "turn_index": 1,
        "turn_artifact_dir": f"/session/{turn_id}",
        "started_at_utc": "2026-06-05T00:00:00.000001+00:00",
        "tmux_session_name": "HOUMAO-gpu-1",
        **more,
    }
    return mf.TurnRecord(**fields)  # type: ignore[arg-type]


def test_a_turn_is_marked_while_it_may_not_be_over(tmp_path: Path) -> None:
    """From before its record until after its last one; another start finds both."""
    store = TurnStore(tmp_path, LOG)
    begun, over = record(), record(status="completed", returncode=0)
    store.begin(begun, mf.ACTIVE_TURN)
    assert (store.marked("gpu", mf.ACTIVE_TURN), store.turn("gpu", "turn-1")) == (begun.running(), begun)

    store.end(over, mf.ACTIVE_TURN)
    assert (store.marked("gpu", mf.ACTIVE_TURN), TurnStore(tmp_path, LOG).turns("gpu")) == (None, [over])


def test_a_turn_that_was_never_accepted_leaves_nothing(tmp_path: Path) -> None:
    """Neither its record nor its mark."""
    store = TurnStore(tmp_path, LOG)
    store.begin(record(), mf.ACTIVE_TURN)
    store.drop(record(), mf.ACTIVE_TURN)

    assert (store.marked("gpu", mf.ACTIVE_TURN), store.turns("gpu"), store.agents()) == (None, [], ["gpu"])


@pytest.mark.parametrize("content", ["{", "{}", '{"turn_id": "turn-1", "more": 1}', "[]", "", "[" * 100_000])
def test_what_cannot_be_read_is_absent_and_told(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are found all the same."""
    store = TurnStore(tmp_path, LOG)
    store.begin(record("turn-good"), mf.ACTIVE_TURN)
    broken = tmp_path / mf.MANAGED_AGENTS / "gpu" / mf.TURNS / "turn-1.json"
    broken.write_text(content)

    assert (store.turn("gpu", "turn-1"), store.turns("gpu")) == (None, [record("turn-good")])
    assert {one.message for one in caplog.records} == {"record unreadable"}


@pytest.mark.parametrize("turn_id", ["../authority", ".hidden", "", "a/b", "x" * 300])
def test_what_cannot_name_a_turn_is_not_there(turn_id: str, tmp_path: Path) -> None:
    """No path leads out of the folder."""
    store = TurnStore(tmp_path, LOG)
    store.begin(record(), mf.ACTIVE_TURN)

    assert store.turn("gpu", turn_id) is None
