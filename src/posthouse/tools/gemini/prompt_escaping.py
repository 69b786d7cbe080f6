"""A prompt as text that Gemini CLI takes as a prompt, and as exactly that one. Pure."""

import re
import unicodedata

from posthouse.tools.prompt_escaping import typeable
from posthouse.tools.tool import UnsafePrompt

#: Commands that a caller may mean; anything else that starts with a slash is talk.
CONTEXT_COMMANDS = frozenset({"/clear", "/compress"})
_FIRST_LINE = "Message:\n"
#: The composer drops these; dropped here too, the transcript can be compared with what was typed.
_DROPPED = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
#: Behind a backslash Enter is a newline; behind a word with @ it may pick a file from a list.
_TAKES_ENTER = re.compile(r"\\\Z|@\S*\Z")


def guard(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        UnsafePrompt: It is blank, too long, or holds control characters.
    """
    text = unicodedata.normalize("NFC", _DROPPED.sub("", typeable(prompt)))
    if not text.strip():
        raise UnsafePrompt("the prompt holds nothing that can be seen: send some text")
    if text.strip() in CONTEXT_COMMANDS:
        return text.strip()
    if text.lstrip().startswith("/"):
        # A space in front is not enough: it is trimmed, and a command of that name runs.
        text = _FIRST_LINE + text
    # The space is trimmed when the prompt has been taken.
    return text + " " if _TAKES_ENTER.search(text) else text
