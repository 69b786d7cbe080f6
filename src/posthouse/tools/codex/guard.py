"""A prompt as text that Codex's composer takes for a prompt. Pure."""

from posthouse.tools.guarding import typeable

#: Commands that a caller may mean; anything else that starts with a slash is talk.
CONTEXT_COMMANDS = frozenset({"/new", "/clear", "/compact"})
_FIRST_LINE = "Message:\n"


def guard(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        UnsafePrompt: It is blank, too long, or holds control characters.
    """
    text = typeable(prompt)
    if text.strip() in CONTEXT_COMMANDS:
        return text.strip()
    if text.lstrip().startswith("!"):
        # It would run in a shell; codex trims a space in front and runs it all the same.
        return _FIRST_LINE + text
    if text.startswith("/"):
        return " " + text
    return text
