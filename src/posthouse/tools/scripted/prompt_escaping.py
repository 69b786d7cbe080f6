"""A prompt as text that no persona, and none of the real CLIs, takes for anything else. Pure."""

from posthouse.tools.prompt_escaping import typeable

#: Commands that a caller may mean; anything else that starts with a slash is talk.
KNOWN_COMMANDS = frozenset({"/clear", "/new", "/compact"})


def guard(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        UnsafePrompt: It is blank, too long, holds control characters or is not valid Unicode.
    """
    text = typeable(prompt)
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
