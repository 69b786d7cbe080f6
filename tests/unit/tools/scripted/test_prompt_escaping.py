"""Prompts made safe to type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.errors import InvalidInput
from posthouse.tools.scripted import personas
from posthouse.tools.scripted.composer import Prompt, enter_effect, parse_submission
from posthouse.tools.scripted.prompt_escaping import KNOWN_COMMANDS, escape


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param("hello\nworld\n\n", "hello\nworld", id="trailing newlines go"),
        pytest.param("a\r\nb\rc", "a\nb\nc", id="newlines are newlines"),
        pytest.param("!ls", "Message:\n!ls", id="a bang gets a first line"),
        pytest.param("  !ls", "Message:\n  !ls", id="even after spaces"),
        pytest.param("/clear", "/clear", id="a known command passes"),
        pytest.param("/exit", " /exit", id="a command that ends the agent does not"),
        pytest.param("/clear all", " /clear all", id="nor a known one with more behind it"),
        pytest.param("path\\", "path\\ .", id="a final backslash is not last"),
        pytest.param("a\tb", "a\tb", id="a tab stays"),
    ],
)
def test_a_prompt_is_made_safe(prompt: str, expected: str) -> None:
    """What would be run or swallowed is changed as little as needed."""
    assert escape(prompt) == expected


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (" \n", "the prompt is empty: send some text"),
        (
            "a\x1b[201~\rrm",
            "the prompt contains the control character U+001B at position 1: remove it, "
            "a terminal would read it as a key",
        ),
        ("a\ud800", "the prompt is not valid Unicode at position 1: remove the lone surrogate"),
        ("x" * 1_000_001, "the prompt has 1000001 characters: the limit is 1000000"),
    ],
)
def test_what_cannot_be_typed_is_refused_with_its_reason(prompt: str, message: str) -> None:
    """A terminal can't carry everything."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "unsafe_prompt") as caught:
        escape(prompt)

    assert (caught.value.code, str(caught.value)) == ("unsafe_prompt", message)


@given(
    st.text(alphabet="ab !/\\\n\t", min_size=1, max_size=12).filter(
        lambda text: text.strip() and text.strip() not in KNOWN_COMMANDS
    ),
    st.sampled_from(sorted(personas.PERSONAS)),
)
def test_every_guarded_prompt_reaches_every_persona_as_a_prompt(prompt: str, name: str) -> None:
    """No persona runs, swallows or holds back what the escaping accepts."""
    persona, text = personas.find(name), escape(prompt)

    assert enter_effect(text, persona, since_paste_seconds=1.0, since_burst_seconds=1.0) == "submit"
    assert isinstance(parse_submission(text, persona), Prompt)
