"""What gemini's screens mean, on captures of the real program."""

from dataclasses import replace

from posthouse.terminal.screen import Screen
from posthouse.tools.gemini import surface
from posthouse.tools.packs import captures


def _capture(name: str) -> Screen:
    return captures.screen(captures.folder_of("gemini"), name)


def test_the_composer_is_empty_and_not_missing_where_a_placeholder_stands() -> None:
    """Whoever wants to type can tell the two apart."""
    assert surface.read(_capture("ready-empty")).composer == ""
    assert surface.read(_capture("active-thinking")).composer == ""
    assert surface.read(_capture("dialog-trust")).composer is None


def test_the_title_decides_whether_a_turn_runs() -> None:
    """Also when it works in silence, or tells its thoughts. Where it is foreign, the spinner decides."""
    streaming = _capture("active-streaming")

    titles = ("◇  Ready (x)", "⏲  Working… (x)", "✦  Reading the tests (x)", "vim notes.txt", "")
    assert [surface.read(replace(streaming, title=title)).state for title in titles] == [
        "ready",
        "active",
        "active",
        "active",
        "active",
    ]


def test_an_idle_composer_below_a_foreign_title_is_unknown() -> None:
    """Titles are turned off, or another program has the pane: nobody knows whether a turn runs."""
    assert surface.read(replace(_capture("ready-after-success"), title="vim notes.txt")).state == "unknown"


def test_a_prompt_of_the_past_is_no_composer() -> None:
    """It looks the same, but the cursor is not in it."""
    screen = _capture("dialog-permission")

    assert surface.read(replace(screen, title="◇  Ready (x)")).composer is None


def test_a_cursor_outside_of_the_screen_is_in_no_composer() -> None:
    """A pane may have been resized between two answers of tmux, or the program is not up yet."""
    assert surface.read(replace(_capture("ready-empty"), cursor=(0, 999))).state == "unknown"


def test_a_composer_is_found_while_a_repaint_has_the_cursor_elsewhere() -> None:
    """While a turn runs, or nobody tells where the cursor is, the rule above it tells."""
    busy, idle = _capture("active-streaming"), _capture("ready-empty")

    assert surface.read(replace(busy, cursor=(40, 3))) == surface.read(busy)
    assert surface.read(replace(idle, cursor=None)) == surface.read(idle)


def test_an_empty_screen_is_one_that_starts() -> None:
    """Nothing has been painted yet."""
    assert surface.read(Screen(rows=("",) * 5, title="host", cursor=(0, 0))).state == "starting"


def test_a_dialog_that_is_not_painted_yet_has_no_name() -> None:
    """The title is ahead of it; a wrong name would have the wrong question answered."""
    screen = _capture("dialog-permission-shell")
    asking = [
        replace(screen, rows=screen.rows[:rows] + ("",) * (len(screen.rows) - rows)) for rows in (10, 30, 33)
    ]
    over_composer = replace(_capture("ready-after-success"), title=screen.title)

    read = [surface.read(each) for each in (*asking, over_composer)]

    assert {(each.state, each.dialog) for each in read} == {("blocked", "unknown")}
