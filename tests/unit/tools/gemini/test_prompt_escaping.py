"""Prompts as text that gemini takes as exactly that prompt."""

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.gemini.prompt_escaping import escape


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        pytest.param("plain\nlines\n\n", "plain\nlines", id="newlines at the end go"),
        pytest.param("!ls", "!ls", id="a bang is no command when it is pasted"),
        pytest.param("/help me", "Message:\n/help me", id="a slash gets a line before it"),
        pytest.param("  /quit", "Message:\n  /quit", id="spaces before it do not help"),
        pytest.param("see /tmp", "see /tmp", id="a slash inside is none"),
        pytest.param(" /clear\n", "/clear", id="a command that a caller may mean"),
        pytest.param("/compress", "/compress", id="the other one"),
        pytest.param("path\\", "path\\ ", id="a backslash would make a newline of Enter"),
        pytest.param("path\\\n", "path\\ ", id="and before a newline that goes"),
        pytest.param("look at @notes", "look at @notes ", id="a list of files would take the Enter"),
        pytest.param("mail me@example.org", "mail me@example.org ", id="an address too"),
        pytest.param("@notes first", "@notes first", id="not when the word is over"),
        pytest.param("e\u0301", "\u00e9", id="composed as the composer does"),
        pytest.param("a\u200bb\ufeff\u202ec", "abc", id="without what the composer drops"),
        pytest.param("tab\there", "tab\there", id="a tab stays"),
    ],
)
def test_what_is_typed_for_a_prompt(prompt: str, typed: str) -> None:
    """What the model gets is the prompt itself wherever that can be had."""
    assert escape(prompt) == typed


@pytest.mark.parametrize("prompt", ["", " \n", "\u200b\ufeff", "a\x1b[200~", "a\x00", "\ud800"])
def test_what_cannot_be_typed_is_refused(prompt: str) -> None:
    """Nothing reaches the terminal."""
    with pytest.raises(InvalidInput, match="the prompt"):
        escape(prompt)
