"""How events look on the wire."""

from posthouse.events.event import Event, Gap, Position
from posthouse.web.event_stream import encode_items, everything

ONE = Event(number=7, kind="accepted", line=b'{"kind": "accepted"}')
TWO = Event(number=8, kind="completed", line=b'{"kind": "completed"}')
GAP = Gap(position=Position(number=6, check=None), missing=3, reason="gone")


def only_completed(event: Event) -> bool:
    return event.kind == "completed"


def test_an_event_is_its_line_with_its_id() -> None:
    """Programs read the same JSON as in the file."""
    assert encode_items([ONE], everything).decode() == f'id: {ONE.position}\ndata: {{"kind": "accepted"}}\n\n'


def test_what_was_not_asked_for_moves_the_place_on() -> None:
    """A reader of few kinds does not go back to the last of them."""
    assert encode_items([TWO, ONE], only_completed).decode() == (
        f'id: {TWO.position}\ndata: {{"kind": "completed"}}\n\nid: {ONE.position}\n\n'
    )


def test_a_gap_is_told_whatever_was_asked_for() -> None:
    """Missing events may have been of any kind."""
    assert encode_items([GAP], only_completed).decode() == (
        'id: 6-end\ndata: {"kind": "gap", "missing": 3, "reason": "gone"}\n\n'
    )
