"""Files of turns that another program has overwritten."""

from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.terminal.client import Tmux
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.turns import runner
from posthouse.turns.turn_order import Order


@pytest.mark.parametrize(
    ("name", "content"), [("run.json", "{}"), (".last", "../../elsewhere"), (".last", "a\0b")]
)
def test_a_bad_record_of_the_last_turn_does_not_keep_the_next_from_starting(
    tmux: Tmux, turns_root: Path, make_order: Callable[..., Order], name: str, content: str
) -> None:
    first = runner.start(tmux, "agent", turns_root, make_order("true"))
    first.wait(LIMIT_SECONDS)
    (turns_root / name if name == ".last" else first.folder.path / name).write_text(content)

    second = runner.start(tmux, "agent", turns_root, make_order("true"))

    assert second.wait(LIMIT_SECONDS).returncode == 0


def test_a_bad_order_hides_one_turn(tmux: Tmux, turns_root: Path, make_order: Callable[..., Order]) -> None:
    """And no other."""
    turn = runner.start(tmux, "agent", turns_root, make_order("true"))
    turn.wait(LIMIT_SECONDS)
    bad = turns_root / "turn-bad"
    bad.mkdir()
    (bad / "order.json").write_text("{}")

    assert [one.turn_id for one in runner.turns_of(turns_root)] == [turn.turn_id]
