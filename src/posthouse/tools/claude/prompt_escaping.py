"""Escapes prompts so that Claude Code's composer reads them as prompts. Pure."""

import re
import unicodedata

from posthouse.tools.prompt_escaping import normalize_prompt

#: Commands that callers may send; any other text with a leading slash is a prompt.
_CONTEXT_COMMAND = re.compile(r"/clear|/compact( .*)?")
#: These words end the program, with or without surrounding spaces.
_EXITS = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
#: The last word is a file mention.
_MENTION = re.compile(r"(?:\A|\s)@\S*\Z")
_TAB = " " * 4
_FIRST_LINE = "Message:\n"


def escape(prompt: str) -> str:
    """The text to paste for *prompt*. The agent receives the same text without trailing spaces.

    Raises:
        InvalidInput: It is blank, too long, or holds control characters.
    """
    # The composer does the same; doing it here makes the text comparable with the transcript.
    text = unicodedata.normalize("NFC", normalize_prompt(prompt)).replace("\t", _TAB).rstrip()
    bare = text.strip()
    if _CONTEXT_COMMAND.fullmatch(bare):
        return bare
    if bare in _EXITS:
        return f"{bare}."
    if bare.startswith(("!", "/")):
        # `!` would run in a shell, and an unknown command is dropped. A leading space is not enough: queued
        # prompts are trimmed.
        text = _FIRST_LINE + text
    if bare.endswith("\\"):
        # A trailing backslash turns Enter into a newline.
        text += " ."
    elif _MENTION.search(text):
        # The file popup is open; Enter would replace the word by its first entry.
        text += " "
    return text
