"""What gemini's screens mean, on captures of the real program."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posthouse.terminal.screen import Screen, rows_of
from posthouse.tools.gemini import surface

CAPTURES = Path(surface.__file__).with_name("captures")
EXPECTED: dict[str, dict[str, Any]] = json.loads((CAPTURES / "expected.json").read_text())


def _capture(name: str) -> Screen:
    values = (CAPTURES / f"{name}.meta").read_text().splitlines()[1].split(",")
    return Screen(
        rows=rows_of((CAPTURES / f"{name}.ansi").read_text().removesuffix("\n")),
        title=",".join(values[4:-4]),
        cursor=(int(values[0]), int(values[1])),
        dead=values[-3] == "1",
    )


@pytest.mark.parametrize("name", sorted(path.stem for path in CAPTURES.glob("*.ansi")))
def test_a_capture_is_read_as_a_person_reads_it(name: str) -> None:
    """State, dialog and what stands in the composer."""
    found = surface.read(_capture(name))

    told = {"state": found.state, "dialog": found.dialog, "composer": found.composer or None}
    assert {key: value for key, value in told.items() if value is not None} == EXPECTED[name]


def test_the_composer_is_empty_and_not_missing_where_a_placeholder_stands() -> None:
    """Whoever wants to type can tell the two apart."""
    assert surface.read(_capture("ready-empty")).composer == ""
    assert surface.read(_capture("active-thinking")).composer == ""
    assert surface.read(_capture("dialog-trust")).composer is None


def test_the_title_decides_whether_a_turn_runs() -> None:
    """Also when it works in silence, or tells its thoughts; a foreign title tells nothing."""
    streaming = _capture("active-streaming")

    titles = ("◇  Ready (x)", "⏲  Working… (x)", "✦  Reading the tests (x)", "vim notes.txt", "")
    assert [surface.read(replace(streaming, title=title)).state for title in titles] == [
        "ready",
        "active",
        "active",
        "unknown",
        "unknown",
    ]


def test_a_prompt_of_the_past_is_no_composer() -> None:
    """It looks the same, but the cursor is not in it."""
    screen = _capture("dialog-permission")

    assert surface.read(replace(screen, title="◇  Ready (x)")).composer is None


def test_a_cursor_outside_of_the_screen_is_in_no_composer() -> None:
    """A pane may have been resized between two answers of tmux."""
    assert surface.read(replace(_capture("ready-empty"), cursor=(0, 999))).state == "unknown"


def test_an_empty_screen_is_one_that_starts() -> None:
    """Nothing has been painted yet."""
    assert surface.read(Screen(rows=("",) * 5, title="host", cursor=(0, 0))).state == "starting"
