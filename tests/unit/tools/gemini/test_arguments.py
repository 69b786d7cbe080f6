"""Gemini's command lines."""

from dataclasses import replace
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.gemini import arguments
from posthouse.tools.tool import Chat, HeadlessTurn, Launch, Permissions

LAUNCH = Launch(home=Path("/h"), working_directory=Path("/w"), role_name="scribe")
ROLE = "[Your role: scribe]\nWrite.\n[End of your role]"
ASK = ("--approval-mode", "default")
STREAM = ("--output-format", "stream-json")


@pytest.mark.parametrize(
    ("chat", "words"),
    [
        (Chat(), ()),
        (Chat(mode="latest"), ("--resume", "latest")),
        (Chat(mode="exact", id="abc"), ("--resume", "abc")),
    ],
)
def test_a_start_continues_the_conversation_it_is_told(chat: Chat, words: tuple[str, ...]) -> None:
    """In the TUI and in a turn."""
    assert arguments.tui_arguments(LAUNCH, chat) == (*ASK, *words)
    assert arguments.turn_arguments(LAUNCH, HeadlessTurn(prompt="p", chat=chat)) == (*ASK, *words, *STREAM)


@pytest.mark.parametrize(
    "order",
    [
        HeadlessTurn(prompt="p", chat=Chat(mode="exact", id="--yolo")),
        HeadlessTurn(prompt="p", model="--yolo"),
    ],
)
def test_a_callers_word_is_never_an_option(order: HeadlessTurn) -> None:
    """Neither a conversation's id nor a model's name."""
    with pytest.raises(InvalidInput, match=r"invalid (conversation id|model) '--yolo'"):
        arguments.turn_arguments(LAUNCH, order)


@pytest.mark.parametrize(
    ("permissions", "mode"), [("ask", "default"), ("edits", "auto_edit"), ("all", "yolo")]
)
def test_permissions_are_the_clis_own_mode(permissions: Permissions, mode: str) -> None:
    """Always said, whatever its settings say."""
    launch = replace(LAUNCH, permissions=permissions)

    assert arguments.tui_arguments(launch, Chat()) == ("--approval-mode", mode)


@pytest.mark.parametrize(
    "given", [("--yolo",), ("-y",), ("--approval-mode=plan",), ("--approval-mode", "plan")]
)
def test_a_mode_of_the_users_own_is_not_doubled(given: tuple[str, ...]) -> None:
    """The CLI refuses two."""
    assert arguments.tui_arguments(replace(LAUNCH, args=given), Chat()) == given


def test_a_turns_model_wins_and_comes_behind_the_users_arguments() -> None:
    """The last one counts."""
    launch = replace(LAUNCH, args=("-m", "old", "-o", "json"), model="of-the-agent")

    assert arguments.turn_arguments(launch, HeadlessTurn(prompt="p")) == (
        *("-m", "old", "-o", "json", "--model", "of-the-agent"),
        *ASK,
    )
    assert arguments.turn_arguments(launch, HeadlessTurn(prompt="p", model="new"))[4:6] == ("--model", "new")


def test_only_a_new_conversation_is_told_its_role() -> None:
    """Before the prompt, in brackets; a continued one remembers."""
    launch = replace(LAUNCH, role_text=" Write.\n")
    latest = Chat(mode="latest")

    assert arguments.turn_stdin(launch, HeadlessTurn(prompt="p")) == f"{ROLE}\n\np"
    assert arguments.turn_stdin(launch, HeadlessTurn(prompt="p", chat=latest)) == "p"
    assert arguments.turn_stdin(LAUNCH, HeadlessTurn(prompt="p")) == "p"
    assert arguments.tui_arguments(launch, Chat()) == (*ASK, "--prompt-interactive", ROLE)
    assert arguments.tui_arguments(launch, latest) == (*ASK, "--resume", "latest")


def test_what_is_too_long_is_refused_before_anything_starts() -> None:
    """The CLI would cut it off, and the kernel refuse it."""
    with pytest.raises(InvalidInput, match="8388609 bytes, gemini reads at most 8388608"):
        arguments.turn_stdin(LAUNCH, HeadlessTurn(prompt="x" * (8 * 1024 * 1024 + 1)))
    with pytest.raises(InvalidInput, match="the role 'scribe' has more than"):
        arguments.tui_arguments(replace(LAUNCH, role_text="x" * 128 * 1024), Chat())


def test_a_turns_reasoning_wins_over_the_agents() -> None:
    """Level 0 too."""
    launch = replace(LAUNCH, model="gemini-2.5-flash", reasoning_level=5)

    of_agent = arguments.thinking_variables(launch)
    of_turn = arguments.thinking_variables(launch, HeadlessTurn(prompt="p", model="m", reasoning_level=0))
    assert of_agent == arguments.thinking_variables(launch, HeadlessTurn(prompt="p"))
    assert set(of_agent.values()) == {"gemini-2.5-flash", "chat-base-2.5"}
    assert of_turn == {
        "POSTHOUSE_GEMINI_THINKING_0_FAMILY": "chat-base-2.5",
        "POSTHOUSE_GEMINI_THINKING_0_MODEL": "m",
    }
