"""A dialog with numbered choices that replaces the composer."""

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """The text, the choices and the selected choice."""

    kind: Literal["permission", "trust", "question"]
    lines: tuple[str, ...]
    choices: tuple[str, ...]
    selected: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The chosen index, from 0; None for Escape."""

    choice: int | None


def press(dialog: Dialog, key: str) -> Dialog | Answer:
    """The dialog after *key*, or its answer. Other keys are ignored."""
    last = len(dialog.choices) - 1
    if key in ("Escape", "Ctrl-C"):
        return Answer(None)
    if key == "Enter":
        return Answer(dialog.selected)
    if key.isdecimal() and 1 <= int(key) <= last + 1:
        return Answer(int(key) - 1)
    if key in ("Up", "Down"):
        moved = dialog.selected + (1 if key == "Down" else -1)
        return replace(dialog, selected=min(max(0, moved), last))
    return dialog


def trust(folder: str) -> Dialog:
    return Dialog(
        kind="trust",
        lines=(f"{folder}", "", "Do you trust the files in this folder?"),
        choices=("Yes, I trust this folder", "No, exit"),
    )


def permission(command: str) -> Dialog:
    return Dialog(
        kind="permission",
        lines=("Bash command", "", f"  {command}", "", "Do you want to proceed?"),
        choices=("Yes", "Yes, and don't ask again", "No"),
    )


def question(text: str, choices: tuple[str, ...]) -> Dialog:
    return Dialog(kind="question", lines=("The agent asks", "", text), choices=choices)
