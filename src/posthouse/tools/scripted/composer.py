"""The line a person writes in: its text, its cursor, and what Enter does to it."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from posthouse.tools.scripted.personas import Persona

#: What each of these does with the text that was in the composer is up to the program.
EnterMeans = Literal["nothing", "newline", "submit"]

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*)(?=\s|\Z)")
_COMMANDS = frozenset({"clear", "new", "compact", "exit", "quit"})
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u2060\ufeff"))


class Composer:
    """A draft. Big pastes stand in it as a short placeholder and are put back when it is taken."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._pastes: dict[str, str] = {}

    def set(self, text: str, *, cursor: int | None = None) -> None:
        """Replace the draft; the cursor goes to its end unless told."""
        self.text, self._pastes = text, {}
        self.cursor = len(text) if cursor is None else cursor

    def insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def paste(self, text: str, persona: Persona) -> None:
        """Insert what was pasted, as *persona* keeps and shows it."""
        if persona.tab_spaces is not None:
            text = text.replace("\t", " " * persona.tab_spaces)
        lines = text.count("\n")
        if lines <= persona.collapse_lines:
            self.insert(text)
            return
        label = persona.collapsed.format(number=len(self._pastes) + 1, lines=lines)
        self._pastes[label] = text
        self.insert(label)

    def content(self) -> str:
        """The draft with its pastes in full."""
        text = self.text
        for label, pasted in self._pastes.items():
            text = text.replace(label, pasted, 1)
        return text

    def edit(self, key: str) -> None:
        """Obey an editing key; any other changes nothing."""
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        if key == "Backspace":
            self.text, self.cursor = before[:-1] + after, max(0, self.cursor - 1)
        elif key == "Delete":
            self.text = before + after[1:]
        elif key == "Ctrl-U":
            kept = before[: before.rfind("\n") + 1] if not before.endswith("\n") else before[:-1]
            self.text, self.cursor = kept + after, len(kept)
        elif key in ("Left", "Right"):
            self.cursor = min(max(0, self.cursor + (1 if key == "Right" else -1)), len(self.text))
        elif key in ("Home", "Ctrl-A"):
            self.cursor = before.rfind("\n") + 1
        elif key in ("End", "Ctrl-E"):
            line = after.find("\n")
            self.cursor = len(self.text) if line < 0 else self.cursor + line


def enter_means(
    text: str, persona: Persona, *, since_paste_seconds: float, since_burst_seconds: float
) -> EnterMeans:
    """What Enter does now. A burst is typed text that came faster than a person types."""
    if min(since_paste_seconds, since_burst_seconds) < persona.enter_lost_seconds:
        return "nothing"
    if since_burst_seconds < persona.enter_breaks_line_seconds:
        return "newline"
    if persona.backslash_breaks_line and text.endswith("\\"):
        return "newline"
    return "submit" if text.strip() else "nothing"


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str


@dataclass(frozen=True, slots=True)
class Shell:
    command: str


@dataclass(frozen=True, slots=True)
class Command:
    name: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    text: str


Submission = Prompt | Shell | Command | UnknownCommand


def submission(text: str, persona: Persona) -> Submission:
    """What *persona* takes a submitted draft for."""
    bare = text.lstrip() if persona.bang == "shell even after spaces" else text
    if persona.bang != "prompt" and bare.startswith("!"):
        return Shell(bare[1:].strip())
    if match := _COMMAND.match(text):
        if match.group(1) in _COMMANDS:
            return Command(match.group(1))
        if persona.unknown_command != "prompt":
            return UnknownCommand(text)
    return Prompt(_kept(text, persona))


def _kept(text: str, persona: Persona) -> str:
    """The prompt as *persona* passes it on."""
    text = text.strip() if persona.strips_leading_space else text.rstrip()
    if persona.composes_unicode:
        text = unicodedata.normalize("NFC", text)
    return text.translate(_ZERO_WIDTH) if persona.drops_zero_width else text
