"""The live part of the screen."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from posthouse.tools.scripted import appearance, cells, dialog, view
from posthouse.tools.scripted.view import Labels, LiveView

IDLE = LiveView(
    appearance=appearance.PLAIN,
    labels=Labels(folder="proj", path="/proj", model="m"),
    columns=40,
    rows=12,
    draft="",
    cursor=0,
    tail="",
    active_seconds=None,
    queued=(),
    dialog=None,
    notice="",
    is_up=True,
)


def test_an_idle_screen_is_a_composer_between_two_rules() -> None:
    """The composer begins with the marker and a no-break space, the cursor behind it."""
    assert view.frame(IDLE) == view.Frame(
        ("─" * 40, "\x1b[1m❯\u00a0\x1b[0m", "─" * 40, "  ? for shortcuts"), (1, 2)
    )
    assert view.title(IDLE) == "✳ scripted"


def test_a_running_turn_shows_its_tail_its_work_and_what_waits() -> None:
    """Above the composer stands what is going on."""
    running = replace(IDLE, active_seconds=0.6, tail="half a line", queued=("later\nmore",))

    assert view.frame(running).rows == (
        "half a line",
        "",
        "✶ Working…",
        "",
        "  ❯ later",
        "─" * 40,
        "\x1b[1m❯\u00a0\x1b[0m\x1b[2mPress up to edit queued messages\x1b[0m",
        "─" * 40,
        "  esc to interrupt",
    )
    assert view.title(running) == "⠐ scripted"


def test_a_draft_is_wrapped_and_the_cursor_goes_with_it() -> None:
    """A full row puts the cursor at the start of the next one."""
    drafted = replace(IDLE, draft="x" * 38, cursor=38)

    assert view.frame(drafted) == view.Frame(
        ("─" * 40, "\x1b[1m❯\u00a0\x1b[0m" + "x" * 38, "  ", "─" * 40, "  ? for shortcuts"), (2, 2)
    )


@given(
    columns=st.integers(40, 130),
    rows=st.integers(6, 50),
    draft=st.text(alphabet="ab 你\n", max_size=300),
    active=st.booleans(),
    look=st.sampled_from([appearance.PLAIN, appearance.CODEX, appearance.GEMINI]),
    asks=st.booleans(),
)
def test_a_frame_fits_its_screen(
    columns: int, rows: int, draft: str, active: bool, look: appearance.Appearance, asks: bool
) -> None:
    """No size of window and no draft makes the live part overflow."""
    frame = view.frame(
        replace(
            IDLE,
            appearance=look,
            columns=columns,
            rows=rows,
            draft=draft,
            cursor=len(draft) // 2,
            active_seconds=3.0 if active else None,
            tail="tail" if active else "",
            dialog=dialog.permission("ls") if asks else None,
        )
    )

    assert len(frame.rows) <= rows
    assert all(cells.width(_bare(row)) <= columns for row in frame.rows)
    assert 0 <= frame.cursor[0] < len(frame.rows)
    assert 0 <= frame.cursor[1] < columns


def _bare(row: str) -> str:
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        row = row.replace(style, "")
    return row
