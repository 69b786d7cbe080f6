"""Escapes untrusted text for printing on a terminal.

Control characters (C0, DEL, C1) can set the terminal's title and clipboard or overwrite earlier output.
Bidirectional controls reorder the visible text. Newline and tab are ordinary text.
"""

import re

#: C0 without tab and newline, DEL, C1; Arabic letter mark, directional marks, embeddings and isolates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """*text* with every control and bidi character escaped: `\\x1b`, `\\x9b`, `\\u202e`."""
    return _UNSAFE.sub(_written_out, text)


def visible_json(text: str) -> str:
    """The JSON *text* with those characters as `\\uXXXX`. It parses to the same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
