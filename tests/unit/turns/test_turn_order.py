"""Orders on disk."""

import json
from dataclasses import replace

import pytest

from posthouse.errors import InvalidInput
from posthouse.turns.turn_order import Order

ORDER = Order(
    turn_id="turn-0123456789ab",
    turn_index=3,
    tool="scripted",
    argv=("agent", "-p"),
    environment={"HOME_DIR": "/x"},
    stdin="the prompt",
    working_directory="/work",
    style="fancy",
    detail="detail",
    time_limit_seconds=2.5,
)


def test_an_order_comes_back_from_disk_without_its_prompt() -> None:
    """The record keeps everything but the prompt, which has a file of its own."""
    record = json.loads(json.dumps(ORDER.to_record()))

    assert record == {
        "turn_id": "turn-0123456789ab",
        "turn_index": 3,
        "tool": "scripted",
        "argv": ["agent", "-p"],
        "environment": {"HOME_DIR": "/x"},
        "has_stdin": True,
        "working_directory": "/work",
        "style": "fancy",
        "detail": "detail",
        "time_limit_seconds": 2.5,
    }
    assert Order.from_record({**record, "has_stdin": False}) == Order.from_record(record)
    assert Order.from_record(record).argv == ("agent", "-p")


@pytest.mark.parametrize(
    ("turn_id", "argv", "limit"),
    [
        pytest.param("", ("a",), None, id="no id"),
        pytest.param("../up", ("a",), None, id="an id that leaves the folder"),
        pytest.param(".hidden", ("a",), None, id="an id that hides the folder"),
        pytest.param("turn-1", (), None, id="no program"),
        pytest.param("turn-1", ("a",), 0.0, id="no time"),
        pytest.param("turn-1", ("a\0b",), None, id="an argument that would be cut off"),
        pytest.param("turn-1", ("\udcff",), None, id="an argument that is not text"),
    ],
)
def test_an_order_that_cannot_be_run_is_refused(
    turn_id: str, argv: tuple[str, ...], limit: float | None
) -> None:
    """A bad order never becomes a folder."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_turn_order"):
        Order(
            turn_id=turn_id,
            turn_index=1,
            tool="scripted",
            argv=argv,
            working_directory="/",
            time_limit_seconds=limit,
        )


def test_a_prompt_may_hold_foreign_bytes_but_no_half_characters() -> None:
    """What a shell hands over goes through; what no bytes stand for is refused."""
    assert replace(ORDER, stdin="caf\udce9").stdin == "caf\udce9"
    with pytest.raises(InvalidInput, match="the prompt cannot be written as UTF-8"):
        replace(ORDER, stdin="\ud800")
