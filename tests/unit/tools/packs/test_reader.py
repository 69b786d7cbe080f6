"""What a screen means, whatever stands on it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posthouse.terminal.screen import Choice, Screen
from posthouse.tools import packs
from posthouse.tools.packs import captures

PACK = packs.pack_for("claude", None).pack
_PIECES = st.sampled_from(
    [
        *("❯\u00a0", "❯ ", "! ", "● ", "  ⎿ \u00a0", "✻ ", "─" * 40, "❯ 1. Yes", "  2. No", "Esc to cancel"),
        *(
            "esc to interrupt",
            "Interrupted · What",
            "API Error: 500",
            "Working… (3s)",
            " for 3s",
            "  ❯ ",
            "\u00a0",
        ),
        *(
            "\x1b[1m",
            "\x1b[2m",
            "\x1b[7m",
            "\x1b[0m",
            "\x1b[38;5;246m",
            "\x1b[38;2;1;2;3m",
            "\x1b[39m",
            "\x1b]8;;x",
        ),
        *(
            "You've hit your limit · resets 3pm",
            "Resume this session with:",
            "…",
            "日本",
            " " * 30,
            "\t",
            "\x1b",
        ),
    ]
)
_ROWS = st.lists(st.lists(_PIECES | st.text(max_size=6), max_size=8).map("".join), max_size=30)


@given(
    rows=_ROWS, title=st.sampled_from(["", "✳ x", "⠂ x", "host"]), dead=st.booleans(), cursor=st.booleans()
)
@settings(max_examples=150)
def test_any_screen_has_a_meaning(rows: list[str], title: str, dead: bool, cursor: bool) -> None:
    """Nothing that an agent can print breaks the reading, and what it says fits together."""
    read = packs.read(
        PACK, Screen(rows=tuple(rows), title=title, cursor=(0, 0) if cursor else None, dead=dead)
    )

    assert read.evidence
    assert (read.state == "blocked") == (read.dialog is not None)
    assert (read.outcome == "error") == (read.error_kind is not None)
    assert not (read.is_working and read.outcome != "none")
    assert read.state != "draft" or read.composer


@pytest.mark.parametrize(
    "row",
    [
        "● " + "a · " * 3000,
        "✻ " + "… " * 3000,
        "─" * 9000,
        " " * 9000 + "❯",
        "❯ 1. " + "  x" * 3000,
        "1" * 9000,
    ],
)
def test_no_row_takes_long_to_read(row: str) -> None:
    """A pattern that backtracks would hang here, and every gateway with it."""
    screen = Screen(rows=(row,) * 40, title="", cursor=None)

    assert packs.read(PACK, screen).evidence


def _capture(name: str) -> Screen:
    return captures.screen(captures.folder_of("claude"), name)


def test_a_dialog_says_what_it_offers_and_how_to_press_it() -> None:
    """By numbers where there are some."""
    read = packs.read(PACK, _capture("dialog-permission-bash-80"))

    assert read.choices == (
        Choice(number=1, label="Yes", is_selected=True, keys=("1",)),
        Choice(number=2, label="Yes, and always allow access to myproj/ from this project", keys=("2",)),
        Choice(number=3, label="No", keys=("3",)),
    )
    assert read.detail == "Bash command rm -rf ./mock-dir scripted command Do you want to proceed?"


def test_entries_without_numbers_are_reached_by_arrows() -> None:
    """From the selected one."""
    read = packs.read(PACK, _capture("start-mcp"))

    assert [choice.keys for choice in read.choices] == [("Enter",), ("Down", "Enter")]


def test_a_retry_is_told_in_the_words_of_the_cli() -> None:
    """It is a detail of an active turn."""
    read = packs.read(PACK, _capture("error-overloaded-retrying"))

    assert (read.state, read.detail) == ("active", "API error · Retrying in 5s · attempt 5/10")


def test_a_limit_tells_when_it_ends() -> None:
    """In the words of the CLI."""
    read = packs.read(PACK, _capture("limited-80"))

    assert (read.state, read.resets) == ("limited", "3pm (UTC)")


def test_a_dialog_that_the_agent_quotes_above_a_real_one_names_nothing() -> None:
    """The name comes from what stands below the dialog's own edge."""
    real = _capture("dialog-permission-fetch")
    quote = ("● Yes, I trust this folder", "  ❯ 1. Yes, I trust this folder", "  Esc to cancel")
    quoting = replace(
        real,
        rows=tuple(quote[index - 2] if index in (2, 3, 4) else row for index, row in enumerate(real.rows)),
    )

    read = packs.read(PACK, quoting)

    assert (read.dialog, read.choices[0].label) == ("permission", "Yes")


def test_the_evidence_names_the_title_that_says_nothing() -> None:
    """So that a reader knows how far to trust it."""
    read = packs.read(PACK, replace(_capture("ready-first"), title=""))

    assert (read.state, read.evidence) == ("ready", ("an empty composer", "no status in the title"))
