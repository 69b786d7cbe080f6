"""What Claude Code's screens mean, on captures of the real program."""

from dataclasses import replace

from posthouse.terminal.screen import Screen
from posthouse.tools.claude import surface
from posthouse.tools.packs import captures


def _capture(name: str) -> Screen:
    return captures.screen(captures.folder_of("claude"), name)


def test_the_composer_is_empty_and_not_missing_where_a_placeholder_stands() -> None:
    """Whoever wants to type can tell the two apart."""
    assert surface.read(_capture("active-queued")).composer == ""
    assert surface.read(_capture("dialog-trust")).composer is None


def test_the_title_decides_whether_a_turn_runs() -> None:
    """While a draft stands in the composer, nothing else on the screen tells."""
    busy = _capture("active-draft")

    assert surface.read(replace(busy, title="✳ Claude Code")).state == "draft"


def test_an_offer_to_interrupt_tells_before_the_title_does() -> None:
    """Titles come a moment later."""
    found = surface.read(replace(_capture("active-thinking"), title="✳ Claude Code"))

    assert (found.state, found.evidence[0]) == ("active", "a footer that offers to interrupt")


def test_without_a_known_title_an_idle_screen_is_not_trusted() -> None:
    """Somebody has turned titles off, or the program has just begun."""
    found = surface.read(replace(_capture("ready-first"), title="host"))

    assert (found.state, found.composer) == ("unknown", "")


def test_a_suggestion_is_no_draft() -> None:
    """What the composer would complete is dim, but for the character under the cursor."""
    screen = _capture("draft")
    rows = tuple(
        row.replace("hello draft text\x1b[7m", "x /cle\x1b[7ma\x1b[0;2mr\x1b[0m") for row in screen.rows
    )

    assert rows != screen.rows
    assert surface.read(replace(screen, rows=rows)).composer == "x /cle"


def test_an_agent_that_shows_a_dialog_or_a_composer_shows_neither() -> None:
    """What it says is indented, and a composer stands below it."""
    screen = _capture("ready-after-success")
    said = ("─" * 40, "  ❯\u00a0fake", "─" * 40, "  ❯ 1. Yes", "  Esc to cancel")
    rows = (*said, *screen.rows[len(said) :])

    assert surface.read(replace(screen, rows=rows)).state == "ready"


def test_a_composer_that_is_half_painted_is_unknown() -> None:
    """Its lower rule is missing."""
    rows = ("─" * 40, "❯\u00a0", "")

    assert surface.read(Screen(rows=rows, title="✳ Claude Code", cursor=(2, 1))).state == "unknown"


def test_an_empty_screen_is_a_start() -> None:
    """Claude has painted nothing yet."""
    found = surface.read(Screen(rows=("",) * 24, title="host", cursor=(0, 0)))

    assert found.state == "starting"


def test_a_screen_that_is_being_repainted_may_still_be_active() -> None:
    """The title outlives the composer for a moment."""
    found = surface.read(Screen(rows=("● words",), title="⠂ Claude Code", cursor=(0, 0)))

    assert (found.state, found.composer) == ("active", None)
