"""What codex's screens mean, on captures of the real program."""

from dataclasses import replace

from posthouse.terminal.screen import Screen
from posthouse.tools.codex import surface
from posthouse.tools.packs import captures


def _capture(name: str) -> Screen:
    return captures.screen(captures.folder_of("codex"), name)


def test_the_composer_is_empty_and_not_missing_where_a_placeholder_stands() -> None:
    """Whoever wants to type can tell the two apart."""
    assert surface.read(_capture("ready-empty")).composer == ""
    assert surface.read(_capture("dialog-trust")).composer is None


def test_the_title_decides_whether_a_turn_runs() -> None:
    """While text streams, nothing else on the screen tells."""
    streaming = _capture("active-streaming")

    assert surface.read(replace(streaming, title="proj2")).state == "ready"


def test_a_draft_that_looks_like_a_menu_is_a_draft() -> None:
    """A selected entry of a menu is shown reversed, a draft is not."""
    screen = _capture("draft")
    rows = tuple(row.replace("hello draft", "1. hello") for row in screen.rows)

    found = surface.read(replace(screen, rows=rows))
    assert (found.state, found.composer) == ("draft", "1. hello")


def test_a_status_line_of_a_persons_own_choice_is_one() -> None:
    """In a session that was joined it may say anything; its place tells it."""
    screen = _capture("draft")
    rows = (*screen.rows[:-2], "  50% context left", screen.rows[-1])

    found = surface.read(replace(screen, rows=rows))
    assert (found.state, found.composer) == ("draft", "hello draft")


def test_an_empty_screen_is_a_start() -> None:
    """Codex has painted nothing yet."""
    found = surface.read(Screen(rows=("",) * 24, title="host", cursor=(0, 0)))

    assert found.state == "starting"


def test_another_program_in_the_pane_is_unknown() -> None:
    """A shell's prompt is no composer."""
    found = surface.read(Screen(rows=("$ › hello", "", ""), title="host", cursor=(0, 0)))

    assert (found.state, found.composer) == ("unknown", None)


def test_a_dialog_that_is_not_painted_yet_has_no_name() -> None:
    """The title is ahead of it; a wrong name would have the wrong question answered."""
    screen = _capture("dialog-approval-exec")
    asking = [
        replace(screen, rows=screen.rows[:rows] + ("",) * (len(screen.rows) - rows)) for rows in (10, 30, 34)
    ]
    over_composer = replace(_capture("ready-after-success"), title=screen.title)

    read = [surface.read(each) for each in (*asking, over_composer)]

    assert {(each.state, each.dialog) for each in read} == {("blocked", "unknown")}
