"""What a capture of Codex's TUI means. Pure.

In this order: a dead pane; a dialog, which would eat what is typed; the title, which alone tells in every
state whether a turn runs; the composer with the status line below it, which is missing while no session
stands behind the first picture.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from posthouse.terminal.screen import Screen, Surface, plain
from posthouse.tools.cells import cells

_ACTIVE_TITLE = re.compile(r"[\u2801-\u28ff] ")
_BLOCKED_TITLE = "Action Required"
#: A composer waits for a prompt, or for a shell command.
_PROMPT, _SHELL = "›", "!"
_INDENT = 2
#: The selected entry of a menu; the sign-in has an ASCII marker.
_CHOICE = re.compile(r"[›>] \d+\. \S")
#: `model · folder`, the folder clipped in a narrow window.
_STATUS = re.compile(r" {2}\S.* · [~/…]")
_APPROVAL = "Would you like to"
#: Menus by words of theirs; any other is `menu`.
_MENUS = {
    "trust": "Trust this folder?",
    "hooks": "Hooks need review",
    "login": "Sign in with",
    "model": "Select Model",
    "reasoning": "Select Reasoning",
    "permissions": "Update Model Permissions",
    "update": "Update available",
}


@dataclass(frozen=True, slots=True)
class _Composer:
    #: What a person wrote, line by line; a placeholder is not.
    text: str
    #: Whether a status line stands below it.
    is_up: bool


def read(screen: Screen) -> Surface:
    """The state of the TUI, with what it was seen by."""
    if screen.dead:
        return Surface(state="exited", evidence=("the pane is dead",))
    rows = [plain(row).rstrip() for row in screen.rows]
    composer = _composer(screen.rows, rows)
    if _BLOCKED_TITLE in screen.title:
        dialog = "approval" if _shows(rows, _APPROVAL) else "question"
        return Surface(state="blocked", evidence=(f"title {screen.title.strip()!r}",), dialog=dialog)
    if composer is None and any(_CHOICE.match(row) for row in rows):
        dialog = next((name for name, words in _MENUS.items() if _shows(rows, words)), "menu")
        return Surface(state="blocked", evidence=("a menu in the composer's place",), dialog=dialog)
    text = composer.text if composer else None
    if _ACTIVE_TITLE.match(screen.title):
        return Surface(state="active", evidence=(f"title {screen.title.strip()!r}",), composer=text)
    if composer is None:
        return _without_composer(rows)
    if not composer.is_up:
        return Surface(state="starting", evidence=("a composer without its status line",), composer=text)
    if text:
        return Surface(state="draft", evidence=("a draft in the composer",), composer=text)
    return Surface(state="ready", evidence=("an empty composer and an idle title",), composer="")


def _shows(rows: Sequence[str], words: str) -> bool:
    """Whether *words* stand on the screen. A narrow window breaks them between any two."""
    return words in " ".join(" ".join(rows).split())


def _without_composer(rows: Sequence[str]) -> Surface:
    if not any(rows):
        return Surface(state="starting", evidence=("an empty screen",))
    return Surface(state="unknown", evidence=("neither a composer nor a menu",))


def _composer(styled: Sequence[str], rows: Sequence[str]) -> _Composer | None:
    """The composer, or None. What was submitted earlier has a dim marker, a menu's selection is reversed."""
    first = next((row for row in range(len(rows) - 1, -1, -1) if _is_marked(styled[row], rows[row])), None)
    if first is None:
        return None
    status = _status_row(rows, first)
    if status is None and _CHOICE.match(rows[first]):
        return None
    end = _end(rows, first) if status is None else status
    written = [_written(styled[row], is_first=row == first) for row in range(first, end)]
    return _Composer("\n".join(written).strip(), is_up=status is not None)


def _is_marked(styled: str, row: str) -> bool:
    if not row.startswith((_PROMPT, _SHELL)):
        return False
    marker = cells(styled)[0]
    return marker.is_bold and not marker.is_dim and not marker.is_reverse


def _status_row(rows: Sequence[str], first: int) -> int | None:
    """The status line below a composer that begins in row *first*: last but one on the screen.

    It has the last word only where codex does not fill the screen.
    """
    if len(rows) - 2 > first and rows[-2] and not rows[-3]:
        return len(rows) - 2
    below = range(len(rows) - 1, first, -1)
    return next((row for row in below if _STATUS.match(rows[row]) and not rows[row - 1]), None)


def _end(rows: Sequence[str], first: int) -> int:
    """The row behind the text of a composer that has no status line."""
    return next((row for row in range(first, len(rows)) if not rows[row]), len(rows))


def _written(styled: str, *, is_first: bool) -> str:
    """What a person wrote in one row: a placeholder is dim, and so are the arrows beside a tall draft."""
    found = cells(styled)
    marker = _SHELL if is_first and found[0].character == _SHELL else ""
    text = "".join(cell.character for cell in found[_INDENT:] if not cell.is_dim)
    return marker + text.rstrip()
