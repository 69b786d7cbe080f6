"""A prompt as text that no persona, and none of the real CLIs, takes for anything else. Pure."""

import re

from posthouse.tools.tool import UnsafePrompt

#: Commands that a caller may mean; anything else that starts with a slash is talk.
KNOWN_COMMANDS = frozenset({"/clear", "/new", "/compact"})
_MAX_CHARS = 1_000_000
# Escape would end the bracketed paste, and everything behind it would be keys.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def guard(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        UnsafePrompt: It is blank, too long, or holds control characters.
    """
    text = prompt.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    _refuse_unsafe(text)
    if text.strip() in KNOWN_COMMANDS:
        return text.strip()
    if text.lstrip().startswith("!"):
        # A space in front is not enough: one CLI trims it and runs the rest in a shell.
        text = "Message:\n" + text
    elif text.startswith("/"):
        text = " " + text
    if text.rstrip().endswith("\\"):
        # A backslash at the end makes a newline of the Enter.
        text += " ."
    return text


def _refuse_unsafe(text: str) -> None:
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
