"""What all guards share: prompts that a terminal takes for text, words that are no options. Pure."""

import re

from posthouse.errors import InvalidInput
from posthouse.tools.tool import UnsafePrompt

_MAX_CHARS = 1_000_000
# Escape would end the bracketed paste, and everything behind it would be keys.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class LooksLikeOption(InvalidInput):
    """The CLI would take a caller's word for one of its own options."""

    code = "looks_like_option"


def no_option(word: str, what: str) -> str:
    """*word*, which a caller gave as *what*.

    Raises:
        LooksLikeOption: It could switch off what guards the agent.
    """
    if word.startswith("-"):
        raise LooksLikeOption(f"{word!r} is no {what}: it begins with '-', as options do")
    return word


def typeable(prompt: str) -> str:
    """*prompt* with plain newlines and none at its end.

    Raises:
        UnsafePrompt: It is blank, too long, holds control characters or is not valid Unicode.
    """
    text = prompt.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if not text.strip():
        raise UnsafePrompt("the prompt is empty: send some text")
    if len(text) > _MAX_CHARS:
        raise UnsafePrompt(f"the prompt has {len(text)} characters, at most {_MAX_CHARS} can be typed")
    if found := _CONTROL.search(text):
        raise UnsafePrompt(
            f"the prompt holds the control character U+{ord(found.group()):04X} at position "
            f"{found.start()}: remove it, a terminal would take it for a key"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnsafePrompt(
            f"the prompt is not valid Unicode at position {error.start}: remove the lone surrogate"
        ) from None
    return text
