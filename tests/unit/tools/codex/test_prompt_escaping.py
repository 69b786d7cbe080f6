"""What is typed for a prompt, one row per rule."""

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.codex.prompt_escaping import escape


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        pytest.param("hello\n\n", "hello", id="newlines at the end are not typed"),
        pytest.param("a\r\nb\rc", "a\nb\nc", id="newlines are plain"),
        pytest.param("!ls", "Message:\n!ls", id="a bang would run in a shell"),
        pytest.param("  !ls", "Message:\n  !ls", id="a space does not keep it from the shell"),
        pytest.param("see\n!ls", "see\n!ls", id="a bang in another line is text"),
        pytest.param("/quit now", " /quit now", id="a slash would be a command"),
        pytest.param("/new", "/new", id="a context command is one"),
        pytest.param("/compact \n", "/compact", id="a context command with space behind it is one"),
        pytest.param(" /new", " /new", id="a context command with space in front is text"),
        pytest.param("/new topic", " /new topic", id="a context command with words is text"),
        pytest.param("look at @src", "look at @src ", id="a file's name at the end would be completed"),
        pytest.param("@src.", "@src. ", id="also as the only word"),
        pytest.param("use $skill", "use $skill ", id="a skill's name at the end would be completed"),
        pytest.param("!x @src", "Message:\n!x @src ", id="both at once"),
        pytest.param("me@here", "me@here", id="an address is no mention"),
        pytest.param("@src is old", "@src is old", id="a mention elsewhere is not completed"),
        pytest.param("ends with \\", "ends with \\", id="a backslash at the end is text"),
        pytest.param("\tx", "\tx", id="tabs stay"),
    ],
)
def test_a_prompt_is_typed_so_that_codex_takes_it_for_one(prompt: str, typed: str) -> None:
    """Nothing is run, swallowed or completed."""
    assert escape(prompt) == typed


@pytest.mark.parametrize("prompt", ["", " \n", "a\x1b[201~b"])
def test_what_is_no_text_is_refused(prompt: str) -> None:
    """Nothing is typed for it."""
    with pytest.raises(InvalidInput, match="the prompt"):
        escape(prompt)
