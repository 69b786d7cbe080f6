"""What no CLI's composer is given."""

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.prompt_escaping import normalize_prompt


def test_newlines_are_plain_and_none_is_at_the_end() -> None:
    """Everything else stays as it is."""
    assert normalize_prompt("  a\r\nb\rc\td\n\n") == "  a\nb\nc\td"


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        pytest.param(" \n\t", "empty", id="blank"),
        pytest.param("x" * 1_000_001, "1000001 characters", id="too long"),
        pytest.param("ab\x1b[201~", "U+001B at position 2", id="the end of a paste"),
        pytest.param("a\x9b", "U+009B", id="an eight-bit control character"),
        pytest.param("a\udc80", "not valid Unicode at position 1", id="half a character"),
    ],
)
def test_what_a_terminal_would_not_take_for_text_is_refused(prompt: str, words: str) -> None:
    """The message says what is wrong and where."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "unsafe_prompt") as refused:
        normalize_prompt(prompt)

    assert words in str(refused.value)
