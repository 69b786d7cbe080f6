"""The composer: its text, its cursor, and the effect of Enter."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from posthouse.tools.scripted.personas import Persona

#: The caller applies the effect to the composer's text.
EnterEffect = Literal["nothing", "newline", "submit"]

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*)(?=\s|\Z)")
_COMMANDS = frozenset({"clear", "new", "compact", "exit", "quit"})
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u2060\ufeff"))


class Composer:
    """A draft. Large pastes are shown as a placeholder and expanded on submission."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._pastes: dict[str, str] = {}

    def set(self, text: str, *, cursor: int | None = None) -> None:
        """Replace the draft. The default cursor position is its end."""
        self.text, self._pastes = text, {}
        self.cursor = len(text) if cursor is None else cursor

    def insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def paste(self, text: str, persona: Persona) -> None:
        """Insert a paste, in the form that *persona* keeps and shows."""
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
        """The draft with its pastes expanded."""
        text = self.text
        for label, pasted in self._pastes.items():
            text = text.replace(label, pasted, 1)
        return text

    def edit(self, key: str) -> None:
        """Apply an editing key; other keys change nothing."""
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


def enter_effect(
    text: str, persona: Persona, *, since_paste_seconds: float, since_burst_seconds: float
) -> EnterEffect:
    """The effect of Enter now. A burst is text that arrived faster than typing."""
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


def parse_submission(text: str, persona: Persona) -> Submission:
    """A submitted draft as *persona* interprets it."""
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
