"""Escapes prompts so that Codex's composer reads them as prompts. Pure."""

import re

from posthouse.tools.prompt_escaping import normalize_prompt

#: Commands that callers may send; any other text with a leading slash is a prompt.
CONTEXT_COMMANDS = frozenset({"/new", "/clear", "/compact"})
_FIRST_LINE = "Message:\n"
#: The last word is a mention of a file or a skill.
_MENTION = re.compile(r"(?:\A|\s)[@$]\S*\Z")


def escape(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        InvalidInput: It is blank, too long, or holds control characters.
    """
    text = normalize_prompt(prompt)
    if text.rstrip() in CONTEXT_COMMANDS:
        return text.rstrip()
    if text.lstrip().startswith("!"):
        # It would run in a shell. A leading space does not help: codex trims it.
        text = _FIRST_LINE + text
    elif text.startswith("/"):
        text = " " + text
    if _MENTION.search(text):
        # The popup of files or skills is open; Enter would replace the word by its first entry.
        # A space closes it, and codex trims the space.
        text += " "
    return text
