"""The scripted agent's command line: the subset of Claude's that we use. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_VALUES = {
    "--model": "model",
    "--effort": "effort",
    "--append-system-prompt": "role",
    "--resume": "resume",
    "-r": "resume",
    "--output-format": "output_format",
    "--persona": "persona",
}
_FLAGS = {
    "-p": "headless",
    "--print": "headless",
    "--verbose": "verbose",
    "--continue": "continues",
    "-c": "continues",
    "--dangerously-skip-permissions": "allows_everything",
}
_FORMATS = ("text", "json", "stream-json")


class BadArguments(ValueError):
    """The command line is invalid; the message names the argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """One start of the program."""

    headless: bool = False
    verbose: bool = False
    continues: bool = False
    allows_everything: bool = False
    model: str | None = None
    effort: str | None = None
    role: str = ""
    resume: str | None = None
    output_format: str = "text"
    persona: str | None = None
    #: The positional argument; None: stdin in headless mode, nothing in the TUI.
    prompt: str | None = None


def parse(words: Sequence[str]) -> Arguments:
    """Read *words* (without the program's own name).

    Raises:
        BadArguments: An option is unknown, misses its value or has an invalid one.
    """
    found: dict[str, Any] = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word in _FLAGS:
            found[_FLAGS[word]] = True
        elif word in _VALUES:
            if not waiting:
                raise BadArguments(f"error: option '{word}' argument missing")
            found[_VALUES[word]] = waiting.pop(0)
        elif word.startswith("-") and len(word) > 1:
            raise BadArguments(f"error: unknown option '{word}'")
        else:
            found["prompt"] = word
    return _validated(Arguments(**found))


def _validated(parsed: Arguments) -> Arguments:
    if parsed.output_format not in _FORMATS:
        raise BadArguments(f"error: --output-format is one of {', '.join(_FORMATS)}")
    if parsed.headless and parsed.output_format == "stream-json" and not parsed.verbose:
        raise BadArguments("Error: When using --print, --output-format=stream-json requires --verbose")
    return parsed
