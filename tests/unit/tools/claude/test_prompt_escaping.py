"""Prompts that Claude Code would take for something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.errors import InvalidInput
from posthouse.tools.claude.prompt_escaping import escape


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        pytest.param("hello", "hello", id="talk"),
        pytest.param("  hello \n\n", "  hello", id="the end is trimmed, the beginning is not"),
        pytest.param("a\r\nb\rc", "a\nb\nc", id="newlines"),
        pytest.param("a\tb", "a    b", id="a tab is what the composer makes of it"),
        pytest.param("e\u0301", "\u00e9", id="and so is an accent"),
        pytest.param("!ls", "Message:\n!ls", id="a shell command"),
        pytest.param("  !ls", "Message:\n  !ls", id="however far in"),
        pytest.param("/tmp/x is full", "Message:\n/tmp/x is full", id="a path"),
        pytest.param(" /nope", "Message:\n /nope", id="an unknown command"),
        pytest.param("/clear", "/clear", id="a fresh conversation"),
        pytest.param(" /compact\n", "/compact", id="a compacted one"),
        pytest.param("/compact the tests", "/compact the tests", id="compacted with words"),
        pytest.param("/clear it", "Message:\n/clear it", id="a sentence that begins like a command"),
        pytest.param("/compact\nrun", "Message:\n/compact\nrun", id="and one of two lines"),
        pytest.param("exit", "exit.", id="a word that ends the program"),
        pytest.param(" :wq! ", ":wq!.", id="in any of its forms"),
        pytest.param("exit now", "exit now", id="but not in a sentence"),
        pytest.param("a \\", "a \\ .", id="a backslash at the end"),
        pytest.param("a \\ \n", "a \\ .", id="or before spaces"),
        pytest.param("see @src/x", "see @src/x ", id="a file at the end"),
        pytest.param("see @src/x now", "see @src/x now", id="a file elsewhere"),
        pytest.param("me@example.org", "me@example.org", id="an address"),
    ],
)
def test_a_prompt_is_typed_as(prompt: str, typed: str) -> None:
    """One row per trap."""
    assert escape(prompt) == typed


@pytest.mark.parametrize("prompt", ["", " \n", "a\x1bb", "\ud800", "x" * 1_000_001])
def test_what_cannot_be_typed_is_refused(prompt: str) -> None:
    """Blank, keys, half a character, too much."""
    with pytest.raises(InvalidInput, match="the prompt"):
        escape(prompt)


@given(st.text(min_size=1, max_size=60))
def test_whatever_is_typed_is_no_command(prompt: str) -> None:
    """Only what was named above may begin like one."""
    try:
        typed = escape(prompt)
    except InvalidInput:
        return

    assert not typed.lstrip().startswith("!")
    assert not typed.lstrip().startswith("/") or typed.split()[0] in ("/clear", "/compact")
    assert not typed.endswith("\\")
    assert typed.strip() not in ("exit", "quit")
