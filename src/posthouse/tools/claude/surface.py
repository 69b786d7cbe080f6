"""What a capture of Claude Code's TUI means. Pure.

In this order: a dead pane; a dialog, which takes the composer's place and would eat what is typed; the title,
which alone tells in every state whether a turn runs; the composer.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from posthouse.terminal.screen import Screen, Surface, plain
from posthouse.tools.cells import Cell, cells

_ACTIVE_TITLE = re.compile(r"[\u2801-\u28ff] ")
_IDLE_TITLE = re.compile(r"✳ ")
#: The composer's row: a no-break space tells it from past prompts. `!` waits for a shell command.
_COMPOSER = re.compile(r"[❯!]\u00a0")
_INDENT = 2
_NOTHING = Cell("")
#: Above and below the composer, and above dialogs. A name may stand in it.
_RULE = re.compile(r"─{4,}.*─\Z")
#: Below a composer whose agent is at work, unless a draft stands in it.
_INTERRUPTIBLE = "esc to interrupt"
#: Below a composer that shows what a search found; what is typed is searched for.
_SEARCHING = re.compile(r"search prompts:|no matching prompt:")
_PAST_PROMPT = re.compile(r"❯ (?!\d+\. )")
#: What only dialogs show: the selected entry of a numbered menu, or the way out.
_DIALOG = re.compile(r"❯ \d+\. |\besc to |ctrl\+o to toggle", re.IGNORECASE)
#: Dialogs by words of theirs; any other is `menu`.
_NAMES = {
    "trust": re.compile("trust this folder"),
    "api_key": re.compile("use this API key"),
    "bypass": re.compile("Bypass Permissions mode"),
    "mcp": re.compile("new MCP servers?", re.IGNORECASE),
    "plan": re.compile("Would you like to proceed"),
    "permission": re.compile("Do you want to "),
    "question": re.compile(r"Enter to select · .* to navigate"),
    "model": re.compile("Select model"),
    "resume": re.compile("Resume (session|from|full)"),
    "transcript": re.compile("Showing detailed transcript"),
}


@dataclass(frozen=True, slots=True)
class _Composer:
    #: What a person wrote, line by line; a placeholder is not.
    text: str
    #: The rows below it.
    footer: str


def read(screen: Screen) -> Surface:
    """The state of the TUI, with what it was seen by."""
    if screen.dead:
        return Surface(state="exited", evidence=("the pane is dead",))
    rows = [plain(row).rstrip(" ") for row in screen.rows]
    composer = _composer(screen.rows, rows)
    if composer is None:
        return _without_composer(screen.title, rows)
    if _ACTIVE_TITLE.match(screen.title):
        return Surface(state="active", evidence=(f"title {screen.title.strip()!r}",), composer=composer.text)
    if _INTERRUPTIBLE in composer.footer:
        return Surface(
            state="active", evidence=("a footer that offers to interrupt",), composer=composer.text
        )
    return _idle(screen.title, composer)


def _without_composer(title: str, rows: Sequence[str]) -> Surface:
    if dialog := _dialog(rows):
        return Surface(
            state="blocked", evidence=(f"a dialog in the composer's place: {dialog}",), dialog=dialog
        )
    if _ACTIVE_TITLE.match(title):
        return Surface(state="active", evidence=(f"title {title.strip()!r}",))
    if not any(rows):
        return Surface(state="starting", evidence=("an empty screen",))
    return Surface(state="unknown", evidence=("neither a composer nor a dialog",))


def _idle(title: str, composer: _Composer) -> Surface:
    if _SEARCHING.search(composer.footer):
        return Surface(state="blocked", evidence=("a search in past prompts",), dialog="search")
    if not _IDLE_TITLE.match(title):
        return Surface(
            state="unknown", evidence=("a composer without a known title",), composer=composer.text
        )
    if composer.text:
        return Surface(state="draft", evidence=("a draft in the composer",), composer=composer.text)
    return Surface(state="ready", evidence=("an empty composer and an idle title",), composer="")


def _composer(styled: Sequence[str], rows: Sequence[str]) -> _Composer | None:
    """The lowest composer between its two rules. What an agent says is indented and can't be taken for it."""
    for row in range(len(rows) - 1, 0, -1):
        if not _COMPOSER.match(rows[row]) or not _RULE.match(rows[row - 1]):
            continue
        end = next((below for below in range(row + 1, len(rows)) if _RULE.match(rows[below])), None)
        if end is None:
            return None
        written = [_written(styled[each], is_first=each == row) for each in range(row, end)]
        return _Composer("\n".join(written).rstrip(), _flat(rows[end + 1 :]))
    return None


def _written(styled: str, *, is_first: bool) -> str:
    """The text of one row that a person wrote."""
    found = cells(styled)
    marker = "!" if is_first and found[0].character == "!" else ""
    pairs = itertools.pairwise([*found[_INDENT:], _NOTHING])
    own = [cell for cell, following in pairs if _is_own(cell, following)]
    return marker + "".join(cell.character for cell in own).rstrip()


def _is_own(cell: Cell, following: Cell) -> bool:
    """Whether a person wrote it. Suggestions are dim, but for the character under the cursor."""
    return not cell.is_dim and not (cell.is_reverse and following.is_dim)


def _dialog(rows: Sequence[str]) -> str | None:
    """The name of the dialog below the last prompt, if there is one."""
    past = [row for row in range(len(rows)) if _PAST_PROMPT.match(rows[row])]
    text = _flat(rows[past[-1] + 1 if past else 0 :])
    if not _DIALOG.search(text):
        return None
    return next((name for name, words in _NAMES.items() if words.search(text)), "menu")


def _flat(rows: Sequence[str]) -> str:
    """One line: a narrow window breaks rows between any two words."""
    return " ".join(" ".join(rows).split())
