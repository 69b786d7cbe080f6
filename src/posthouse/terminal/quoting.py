"""Quotes arguments of tmux commands.

tmux reads commands in two ways. From a control client's pipe it parses lines: a newline or `;`
starts a second command, `#` a comment, `$` and `~` expand, braces group. From argv it takes each
argument as it is, except that a trailing `;` ends the command.
"""

import os
import re
from collections.abc import Sequence

from posthouse.errors import InvalidInput

#: Every other character below 0x80 is written as an octal escape: an allow list, not a deny list.
_UNSAFE = re.compile(rb"[^A-Za-z0-9 _./:=@%,+\-\x80-\xff]")
_UNSENDABLE_TEXT = "unsendable_text"


def encode(text: str) -> bytes:
    """*text* as bytes; file names that are not UTF-8 keep theirs.

    Raises:
        InvalidInput: `unsendable_text`: it contains NUL or half of a surrogate pair.
    """
    if "\0" in text:
        message = "the text holds a NUL character, which tmux cannot carry; remove it"
        raise InvalidInput(message, code=_UNSENDABLE_TEXT)
    try:
        return os.fsencode(text)
    except UnicodeEncodeError as error:
        message = f"the text holds half of a surrogate pair at character {error.start}; send valid Unicode"
        raise InvalidInput(message, code=_UNSENDABLE_TEXT) from error


def line(command: Sequence[str]) -> bytes:
    """One line for a control client's pipe that is exactly *command*."""
    return b" ".join(map(_quoted, command)) + b"\n"


def nested(command: Sequence[str]) -> str:
    """*command* as one argument of a command that runs others, such as `if-shell`."""
    return os.fsdecode(line(command)).removesuffix("\n")


def argument(text: str) -> bytes:
    """*text* as one argument of a tmux process."""
    raw = encode(text)
    return raw[:-1] + b"\\;" if raw.endswith(b";") else raw


def verbatim(text: str) -> str:
    """*text* for an argument that tmux expands (folders, window names): no format, no shell command in it."""
    return text.replace("#", "##")


def _quoted(text: str) -> bytes:
    return b'"' + _UNSAFE.sub(lambda match: b"\\%03o" % ord(match[0]), encode(text)) + b'"'
