"""Panes as tmux describes them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from posthouse.terminal.pane import Pane, parse, screen_of, split

_PANE = Pane(
    session_name="s",
    window_id="@1",
    window_index="0",
    window_name="agent",
    pane_id="%2",
    pane_index=0,
    pid=42,
    dead=False,
    dead_status=None,
    dead_signal=None,
    in_mode=False,
    title="t",
    columns=120,
    rows=40,
    cursor=(3, 4),
)


def _printed(pane: Pane) -> str:
    """What tmux prints for it."""
    status, number = (("" if value is None else str(value)) for value in (pane.dead_status, pane.dead_signal))
    lengths = " ".join(str(len(name.encode())) for name in (pane.session_name, pane.window_name, pane.title))
    return (
        f"{pane.pane_id} {pane.window_id} {pane.window_index} {pane.pane_index} {pane.pid}"
        f" {pane.columns} {pane.rows} {pane.cursor[0]} {pane.cursor[1]} {int(pane.in_mode)} {int(pane.dead)}"
        f" ={status} ={number} {lengths}|{pane.session_name}{pane.window_name}{pane.title}"
    )


_names = st.text(alphabet=st.characters(codec="utf-8"))


@given(_names, _names, _names)
def test_no_name_or_title_breaks_a_listing(session: str, window: str, title: str) -> None:
    """Newlines, separators and whole forged entries in names are only names."""
    panes = [
        replace(_PANE, session_name=session, window_name=window, title=title),
        replace(_PANE, session_name=title, window_name=session, title=window),
    ]

    assert parse("\n".join(map(_printed, panes))) == panes


def test_how_a_program_ended_is_kept() -> None:
    """Exit code 0, an exit code and a signal are three different ends."""
    panes = [
        replace(_PANE, dead=True, dead_status=0),
        replace(_PANE, dead=True, dead_status=3),
        replace(_PANE, dead=True, dead_signal=9),
        replace(_PANE, in_mode=True),
    ]

    assert parse("\n".join(map(_printed, panes))) == panes


def test_a_capture_follows_its_pane() -> None:
    """One answer holds the description and, after it, the rows."""
    pane, capture = split(_printed(replace(_PANE, title="✳ a\nb", dead=True)) + "\nrow 1\n\nrow 3\udcff")

    screen = screen_of(pane, capture)

    assert (screen.rows, screen.title, screen.cursor, screen.dead, screen.in_mode) == (
        ("row 1", "", "row 3\N{REPLACEMENT CHARACTER}"),
        "✳ a\nb",
        (3, 4),
        True,
        False,
    )
