"""Text that a terminal can't obey."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.support.printable import visible, visible_json

_BIDI = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
#: Ordinary text, with many of the characters in question.
_TEXTS = st.text(st.one_of(st.characters(), st.sampled_from([*map(chr, range(0xA0)), *sorted(_BIDI)])))

SHOWN = {
    "a title": ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    "the clipboard": ("\x1b]52;c;eA==\x07", "\\x1b]52;c;eA==\\x07"),
    "an eight-bit sequence": ("\x9b31m", "\\x9b31m"),
    "an overwritten line": ("safe\revil", "safe\\x0devil"),
    "delete": ("a\x7f", "a\\x7f"),
    "reordered text": ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
    "lines and tabs": ("a\tb\nc", "a\tb\nc"),
    "other languages": ("é 你 שלום", "é 你 שלום"),
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN.keys())
def test_what_a_terminal_obeys_is_written_out(text: str, shown: str) -> None:
    """A person sees what was there; the rest is untouched."""
    assert visible(text) == shown


@given(_TEXTS)
def test_nothing_unsafe_is_left(text: str) -> None:
    """Only newline and tab remain of the control characters, and no bidi control."""
    left = set(visible(text)) - {"\n", "\t"}

    assert not left & _BIDI
    assert all(unicodedata.category(one) != "Cc" for one in left)


@given(_TEXTS)
def test_json_keeps_its_value(text: str) -> None:
    """Programs read exactly what was said."""
    shown = visible_json(json.dumps({"text": text}, ensure_ascii=False))

    assert json.loads(shown) == {"text": text}
    assert not set(shown) & _BIDI
    assert all(unicodedata.category(one) != "Cc" for one in shown)
