"""A prompt as text that Codex's composer takes for a prompt. Pure."""

import re

from posthouse.tools.prompt_escaping import typeable

#: Commands that a caller may mean; anything else that starts with a slash is talk.
CONTEXT_COMMANDS = frozenset({"/new", "/clear", "/compact"})
_FIRST_LINE = "Message:\n"
#: The last word names a file or a skill.
_MENTION = re.compile(r"(?:\A|\s)[@$]\S*\Z")


def guard(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        UnsafePrompt: It is blank, too long, or holds control characters.
    """
    text = typeable(prompt)
    if text.rstrip() in CONTEXT_COMMANDS:
        return text.rstrip()
    if text.lstrip().startswith("!"):
        # It would run in a shell; codex trims a space in front and runs it all the same.
        text = _FIRST_LINE + text
    elif text.startswith("/"):
        text = " " + text
    if _MENTION.search(text):
        # A list of files or skills stands open, and Enter would put its first entry in place of the word.
        # A space closes it, and codex trims it away.
        text += " "
    return text
