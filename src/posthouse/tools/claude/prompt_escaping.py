"""A prompt as text that Claude Code's composer takes for a prompt. Pure."""

import re
import unicodedata

from posthouse.tools.prompt_escaping import typeable

#: Commands that a caller may mean; anything else that starts with a slash is talk.
_CONTEXT_COMMAND = re.compile(r"/clear|/compact( .*)?")
#: These end the program, spaces around them or not.
_EXITS = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
#: The last word names a file.
_MENTION = re.compile(r"(?:\A|\s)@\S*\Z")
_TAB = " " * 4
_FIRST_LINE = "Message:\n"


def guard(prompt: str) -> str:
    """The text to paste for *prompt*, which is also what the agent will get, but for spaces at its end.

    Raises:
        UnsafePrompt: It is blank, too long, or holds control characters.
    """
    # The composer does all of this itself; done here, the transcript can be compared.
    text = unicodedata.normalize("NFC", typeable(prompt)).replace("\t", _TAB).rstrip()
    bare = text.strip()
    if _CONTEXT_COMMAND.fullmatch(bare):
        return bare
    if bare in _EXITS:
        return f"{bare}."
    if bare.startswith(("!", "/")):
        # `!` would run in a shell, and an unknown command is lost. A space in front is not enough: what waits
        # while the agent is busy is trimmed.
        text = _FIRST_LINE + text
    if bare.endswith("\\"):
        # It would make a newline of the Enter.
        text += " ."
    elif _MENTION.search(text):
        # A list of files stands open, and Enter would put its first entry in place of the word.
        text += " "
    return text
