"""Escapes prompts so that Gemini CLI reads exactly that prompt. Pure."""

import re
import unicodedata

from posthouse.tools.prompt_escaping import normalize_prompt
from posthouse.tools.tool import unsafe_prompt

#: Commands that callers may send; any other text with a leading slash is a prompt.
CONTEXT_COMMANDS = frozenset({"/clear", "/compress"})
_FIRST_LINE = "Message:\n"
#: The composer drops these; doing it here makes the text comparable with the transcript.
_DROPPED = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
#: After a backslash Enter is a newline; after a word with @ it may pick a file from a popup.
_TAKES_ENTER = re.compile(r"\\\Z|@\S*\Z")


def escape(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        InvalidInput: It is blank, too long, or holds control characters.
    """
    text = unicodedata.normalize("NFC", _DROPPED.sub("", normalize_prompt(prompt)))
    if not text.strip():
        raise unsafe_prompt("the prompt has no visible text: send some text")
    if text.strip() in CONTEXT_COMMANDS:
        return text.strip()
    if text.lstrip().startswith("/"):
        # A leading space is not enough: it is trimmed, and a command of that name runs.
        text = _FIRST_LINE + text
    # The space is trimmed when the prompt is submitted.
    return text + " " if _TAKES_ENTER.search(text) else text
