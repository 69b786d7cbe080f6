"""Drafting, and what each persona makes of a draft."""

from math import inf

import pytest

from posthouse.tools.scripted import personas
from posthouse.tools.scripted.composer import (
    Command,
    Composer,
    EnterEffect,
    Prompt,
    Shell,
    Submission,
    UnknownCommand,
    enter_effect,
    parse_submission,
)


@pytest.mark.parametrize(
    ("persona", "text", "since_paste", "since_burst", "expected"),
    [
        pytest.param("plain", "hi", 0.0, 0.0, "submit", id="plain: at once"),
        pytest.param("plain", " \n", inf, inf, "nothing", id="plain: blank"),
        pytest.param("plain", "hi\\", inf, inf, "submit", id="plain: backslash"),
        pytest.param("claude", "hi", 0.0, 0.0, "submit", id="claude: at once"),
        pytest.param("claude", "hi\\", inf, inf, "newline", id="claude: backslash"),
        pytest.param("codex", "hi", 0.0, inf, "submit", id="codex: after a paste"),
        pytest.param("codex", "hi", inf, 0.1, "newline", id="codex: at once after typed text"),
        pytest.param("codex", "hi", inf, 0.13, "submit", id="codex: a moment later"),
        pytest.param("gemini", "hi", 0.19, inf, "nothing", id="gemini: soon after a paste"),
        pytest.param("gemini", "hi", 0.21, inf, "submit", id="gemini: a moment later"),
        pytest.param("gemini", "hi", inf, 0.05, "nothing", id="gemini: at once after typed text"),
    ],
)
def test_enter_means(
    persona: str, text: str, since_paste: float, since_burst: float, expected: EnterEffect
) -> None:
    """Each persona has its own idea of when Enter submits."""
    means = enter_effect(
        text, personas.find(persona), since_paste_seconds=since_paste, since_burst_seconds=since_burst
    )

    assert means == expected


@pytest.mark.parametrize(
    ("persona", "text", "expected"),
    [
        pytest.param("plain", "!ls", Prompt("!ls"), id="plain: a bang is text"),
        pytest.param("claude", "!ls", Shell("ls"), id="claude: a bang runs a shell"),
        pytest.param("claude", " !ls", Prompt(" !ls"), id="claude: not after a space"),
        pytest.param("codex", " !ls", Shell("ls"), id="codex: even after a space"),
        pytest.param("gemini", "!ls", Prompt("!ls"), id="gemini: a bang is text"),
        pytest.param("codex", "Message:\n!ls", Prompt("Message:\n!ls"), id="on the second line it is text"),
        pytest.param("claude", "/clear", Command("clear"), id="a command"),
        pytest.param("claude", "/nope x", UnknownCommand("/nope x"), id="an unknown command"),
        pytest.param("claude", " /nope x", Prompt(" /nope x"), id="a space makes it text"),
        pytest.param("codex", " /nope x", Prompt("/nope x"), id="codex: and the space goes"),
        pytest.param("gemini", "/nope x", Prompt("/nope x"), id="gemini: unknown commands are text"),
        pytest.param("claude", "/tmp/x is full", Prompt("/tmp/x is full"), id="a path is no command"),
        pytest.param("claude", "a\n/clear", Prompt("a\n/clear"), id="a command on line two is text"),
        pytest.param("claude", "e\u0301", Prompt("é"), id="claude: composed"),
        pytest.param("codex", "e\u0301", Prompt("e\u0301"), id="codex: exact"),
        pytest.param("gemini", "a\u200bb", Prompt("ab"), id="gemini: no zero-width space"),
        pytest.param("claude", " a \n", Prompt(" a"), id="claude: leading space kept, trailing stripped"),
    ],
)
def test_a_draft_is_taken_for(persona: str, text: str, expected: Submission) -> None:
    """What starts with a special character may be no prompt at all."""
    assert parse_submission(text, personas.find(persona)) == expected


def test_a_big_paste_stands_as_a_label_and_is_taken_in_full() -> None:
    """The composer shows a placeholder; the agent gets every line."""
    composer, big = Composer(), "\n".join(map(str, range(20)))
    composer.insert("see: ")
    composer.paste(big, personas.find("claude"))

    assert composer.text == "see: [Pasted text #1 +19 lines]"
    assert composer.content() == "see: " + big


def test_a_small_paste_is_shown_as_it_is() -> None:
    """Tabs become spaces where the persona does that."""
    composer = Composer()
    composer.paste("a\tb\nc", personas.find("claude"))

    assert composer.text == "a    b\nc"


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        (["Left", "Backspace"], "ab\nd", 3),
        (["Home", "Delete"], "ab\nd", 3),
        (["Ctrl-U"], "ab\n", 3),
        (["Ctrl-U", "Ctrl-U"], "ab", 2),
        (["Ctrl-U", "Ctrl-U", "Ctrl-U", "Ctrl-U"], "", 0),
        (["Home", "Left", "Home", "End"], "ab\ncd", 2),
        (["Right", "F5"], "ab\ncd", 5),
    ],
)
def test_keys_edit_the_draft(keys: list[str], text: str, cursor: int) -> None:
    """Editing keys work on the line the cursor is in."""
    composer = Composer()
    composer.set("ab\ncd")
    for key in keys:
        composer.edit(key)

    assert (composer.text, composer.cursor) == (text, cursor)
