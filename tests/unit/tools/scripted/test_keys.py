"""Bytes as keys."""

import pytest

from posthouse.tools.scripted.keys import Input, KeyReader, Pasted, Pressed, Typed


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"hi\r", [Typed("hi"), Pressed("Enter")], id="text and Enter"),
        pytest.param("é❯".encode(), [Typed("é❯")], id="unicode"),
        pytest.param(b"\x1b[200~a\rb\x1b[201~\r", [Pasted("a\nb"), Pressed("Enter")], id="a paste"),
        pytest.param(b"\x1b[200~\x1b[A\x1b[201~", [Pasted("\x1b[A")], id="keys inside a paste are text"),
        pytest.param(
            b"\x1b[A\x1bOB\x1b[3~", [Pressed("Up"), Pressed("Down"), Pressed("Delete")], id="cursor keys"
        ),
        pytest.param(
            b"\x03\x15\x7f", [Pressed("Ctrl-C"), Pressed("Ctrl-U"), Pressed("Backspace")], id="control"
        ),
        pytest.param(
            b"\x1bx\x1b\r", [Pressed("Alt-x"), Pressed("Alt-Enter")], id="Escape at once before a key"
        ),
        pytest.param(b"\x1b[99;5Z", [Pressed("Unknown")], id="a key without a name"),
    ],
)
def test_bytes_are_keys_however_they_are_cut(data: bytes, expected: list[Input]) -> None:
    """The pieces a terminal delivers don't change what was pressed."""
    whole, cut = KeyReader(), KeyReader()

    assert whole.feed(data) == expected
    pieces = [item for at in range(len(data)) for item in cut.feed(data[at : at + 1])]
    assert _joined(pieces) == _joined(expected)


def test_a_lone_escape_is_the_key_when_nothing_follows() -> None:
    """Escape waits for the rest of a sequence, and is itself when none comes."""
    keys = KeyReader()

    assert (keys.feed(b"\x1b"), keys.is_waiting) == ([], True)
    assert (keys.flush(), keys.is_waiting) == ([Pressed("Escape")], False)
    assert keys.flush() == []


def test_a_paste_in_progress_is_not_a_lone_escape() -> None:
    """However long a paste takes to arrive, nothing of it is taken for a key."""
    keys = KeyReader()
    keys.feed(b"\x1b[200~\x1b")

    assert not keys.is_waiting
    assert keys.flush() == []
    assert keys.feed(b"[201~") == [Pasted("")]


def _joined(items: list[Input]) -> list[Input]:
    """*items* with neighbouring typed text put together."""
    joined: list[Input] = []
    for item in items:
        if joined and isinstance(item, Typed) and isinstance(joined[-1], Typed):
            joined[-1] = Typed(joined[-1].text + item.text)
        else:
            joined.append(item)
    return joined
