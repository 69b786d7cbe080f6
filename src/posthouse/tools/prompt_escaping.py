"""Validation of prompts and arguments, shared by all tools. Pure."""

import re

from posthouse.errors import InvalidInput
from posthouse.tools.tool import unsafe_prompt

_MAX_CHARS = 1_000_000
# Escape would end the bracketed paste; the rest would be read as keys.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def reject_option(value: str, kind: str) -> str:
    """*value*, a caller's argument of the given *kind*.

    Raises:
        InvalidInput: It looks like an option, which could disable the agent's safeguards.
    """
    if value.startswith("-"):
        raise InvalidInput(f"invalid {kind} {value!r}: it must not begin with '-'", code="looks_like_option")
    return value


def normalize_prompt(prompt: str) -> str:
    """*prompt* with LF newlines and none at its end.

    Raises:
        InvalidInput: It is blank, too long, holds control characters or is not valid Unicode.
    """
    text = prompt.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if not text.strip():
        raise unsafe_prompt("the prompt is empty: send some text")
    if len(text) > _MAX_CHARS:
        raise unsafe_prompt(f"the prompt has {len(text)} characters: the limit is {_MAX_CHARS}")
    if found := _CONTROL.search(text):
        raise unsafe_prompt(
            f"the prompt contains the control character U+{ord(found.group()):04X} at position "
            f"{found.start()}: remove it, a terminal would read it as a key"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise unsafe_prompt(
            f"the prompt is not valid Unicode at position {error.start}: remove the lone surrogate"
        ) from None
    return text
