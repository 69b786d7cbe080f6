"""Prompts made safe to type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.tools.scripted import personas
from posthouse.tools.scripted.composer import Prompt, enter_means, submission
from posthouse.tools.scripted.prompt_escaping import KNOWN_COMMANDS, guard
from posthouse.tools.tool import UnsafePrompt


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
    assert guard(prompt) == expected


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (" \n", "the prompt is empty: send some text"),
        (
            "a\x1b[201~\rrm",
            "the prompt holds the control character U+001B at position 1: remove it, "
            "a terminal would take it for a key",
        ),
        ("a\ud800", "the prompt is not valid Unicode at position 1: remove the lone surrogate"),
        ("x" * 1_000_001, "the prompt has 1000001 characters, at most 1000000 can be typed"),
    ],
)
def test_what_cannot_be_typed_is_refused_with_its_reason(prompt: str, message: str) -> None:
    """A terminal can't carry everything."""
    with pytest.raises(UnsafePrompt) as caught:
        guard(prompt)

    assert str(caught.value) == message


@given(
    st.text(alphabet="ab !/\\\n\t", min_size=1, max_size=12).filter(
        lambda text: text.strip() and text.strip() not in KNOWN_COMMANDS
    ),
    st.sampled_from(sorted(personas.PERSONAS)),
)
def test_every_guarded_prompt_reaches_every_persona_as_a_prompt(prompt: str, name: str) -> None:
    """No persona runs, swallows or holds back what the guard lets through."""
    persona, text = personas.find(name), guard(prompt)

    assert enter_means(text, persona, since_paste_seconds=1.0, since_burst_seconds=1.0) == "submit"
    assert isinstance(submission(text, persona), Prompt)
