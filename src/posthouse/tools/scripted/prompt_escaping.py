"""Escapes prompts so that every persona and real CLI reads them as prompts. Pure."""

from posthouse.tools.prompt_escaping import normalize_prompt

#: Commands that callers may send; any other text with a leading slash is a prompt.
KNOWN_COMMANDS = frozenset({"/clear", "/new", "/compact"})


def escape(prompt: str) -> str:
    """The text to paste for *prompt*.

    Raises:
        InvalidInput: It is blank, too long, holds control characters or is not valid Unicode.
    """
    text = normalize_prompt(prompt)
    if text.strip() in KNOWN_COMMANDS:
        return text.strip()
    if text.lstrip().startswith("!"):
        # A leading space is not enough: one CLI trims it and runs the rest in a shell.
        text = "Message:\n" + text
    elif text.startswith("/"):
        text = " " + text
    if text.rstrip().endswith("\\"):
        # A trailing backslash turns Enter into a newline.
        text += " ."
    return text
