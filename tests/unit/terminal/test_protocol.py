"""The control protocol, from bytes to events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.terminal import protocol
from posthouse.terminal.protocol import ControlProtocolError, Event, Output, Parser, Paused, Reply

_TRANSCRIPT = (
    b"%begin 1700 10 0\n%end 1700 10 0\n%session-changed $0 s\n"
    b"%begin 1700 11 1\nfirst\n\nthird\n%end 1700 11 1\n"
    b"%output %3 a\\033[1m\\134b\\303\\251\n"
    b"%extended-output %3 12 : x : y\\015\\012\n"
    b"%begin 1700 12 1\nno such thing\n%error 1700 12 1\n"
    b"%pane-mode-changed %3\n%pause %3\n"
)
_EVENTS: list[Event] = [
    Reply("", failed=False, ours=False),
    Reply("first\n\nthird", failed=False, ours=True),
    Output("%3", b"a\x1b[1m\\b\xc3\xa9"),
    Output("%3", b"x : y\r\n"),
    Reply("no such thing", failed=True, ours=True),
    Output("%3", b""),
    Paused("%3"),
]


def test_a_transcript_becomes_its_events() -> None:
    """Replies, output and flow control are told apart; the rest is left out."""
    assert Parser().feed(_TRANSCRIPT) == _EVENTS


@given(st.lists(st.integers(0, len(_TRANSCRIPT)), max_size=30))
def test_the_events_do_not_depend_on_where_the_stream_is_cut(cuts: list[int]) -> None:
    """Reads may end anywhere, in the middle of an escape too."""
    parser = Parser()
    edges = [0, *sorted(cuts), len(_TRANSCRIPT)]

    events = [event for start, end in pairwise(edges) for event in parser.feed(_TRANSCRIPT[start:end])]

    assert events == _EVENTS


def test_a_screen_that_shows_the_protocol_does_not_end_a_reply() -> None:
    """Only the time and number of its own beginning end a reply."""
    shown = "%end 1 2 1\n%begin 3 4 1\n%error 1700 8 1\n%exit"

    events = Parser().feed(b"%begin 1700 9 1\n" + shown.encode() + b"\n%end 1700 9 1\n")

    assert events == [Reply(shown, failed=False, ours=True)]


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest that is kept has a limit."""
    monkeypatch.setattr(protocol, "MAX_LINE_BYTES", 100)

    with pytest.raises(ControlProtocolError):
        Parser().feed(b"x" * 101)


def test_a_reply_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """So has a reply."""
    monkeypatch.setattr(protocol, "MAX_REPLY_BYTES", 100)

    with pytest.raises(ControlProtocolError):
        Parser().feed(b"%begin 1 1 1\n" + b"line\n" * 30)


@given(st.binary())
def test_output_is_byte_exact(content: bytes) -> None:
    """What tmux escapes (below space, backslash) comes back as it was."""
    escaped = b"".join(b"\\%03o" % byte if byte < 32 or byte == 92 else bytes((byte,)) for byte in content)

    assert Parser().feed(b"%output %0 " + escaped + b"\n") == [Output("%0", content)]
