"""What all event streams have in common."""

from typing import Any

import pytest

from posthouse.tools import records


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param({"session_id": "s"}, "s", id="snake case"),
        pytest.param({"sessionId": "s"}, "s", id="camel case"),
        pytest.param({"thread_id": "t"}, "t", id="a thread's"),
        pytest.param({"threadId": "t"}, "t", id="a thread's in camel case"),
        pytest.param({"session": {"id": "s"}}, "s", id="inside a session"),
        pytest.param({"thread": {"id": "t"}}, "t", id="inside a thread"),
        pytest.param({"data": {"threadId": "t"}}, "t", id="inside data"),
        pytest.param({"session_id": " ", "thread_id": "t"}, "t", id="a blank one does not count"),
        pytest.param({"session_id": 7, "data": {"session_id": "s"}}, "s", id="a number does not count"),
        pytest.param({"data": {"session_id": "d"}, "thread": {"id": "t"}}, "t", id="data comes last"),
        pytest.param({"session": "s", "data": []}, None, id="none"),
    ],
)
def test_session_id_is_found_wherever_a_provider_puts_it(
    record: dict[str, Any], expected: str | None
) -> None:
    """The scan follows the order of the protocol's list."""
    assert records.session_id(record) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            {"input_tokens": 1, "output_tokens": 2}, {"input_tokens": 1, "output_tokens": 2}, id="known"
        ),
        pytest.param({"cached": 3}, {"cached_input_tokens": 3}, id="cached is renamed"),
        pytest.param(
            {"cached": 3, "cached_input_tokens": 4}, {"cached_input_tokens": 4}, id="the real name wins"
        ),
        pytest.param({"thoughtsTokenCount": 5}, {"thoughts_token_count": 5}, id="thoughts are renamed"),
        pytest.param(
            {"input_tokens": 1, "odd": 9}, {"input_tokens": 1}, id="unknown keys beside known ones go"
        ),
        pytest.param({"odd": 9}, {"odd": 9}, id="only unknown keys are kept"),
        pytest.param([1], None, id="no mapping"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_usage_speaks_the_shared_names(value: object, expected: dict[str, Any] | None) -> None:
    """Token counts of any provider come out under one set of keys."""
    assert records.usage(value) == expected


def test_one_line_is_one_line_of_bounded_length() -> None:
    """A summary never breaks a line and never floods a pane."""
    assert records.one_line("a\n  b\tc") == "a b c"
    assert records.one_line({"command": "ls"}) == '{"command": "ls"}'
    assert records.one_line("x" * 1000) == "x" * 239 + "…"
