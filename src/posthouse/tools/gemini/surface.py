"""What a capture of Gemini CLI's screen means. Pure.

In this order: a dead pane; the title, where it asks for a person; the composer, in which the hidden cursor
stands; a box in its place, which would eat what is typed; the title, which alone tells whether a turn runs.
Prompts of the past look exactly like the composer, but for the cursor.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posthouse.terminal.screen import Screen, Surface, plain

_ASKING_TITLE = re.compile(r"✋|.*\bAction Required\b")
#: The second is for work that shows nothing: a long silence of a tool.
_ACTIVE_TITLE = re.compile(r"[✦⏲]")
_IDLE_TITLE = re.compile(r"◇")
#: `*` instead of `>` when everything is allowed.
_COMPOSER = re.compile(r" [>*] ")
#: The composer in another mode, in which a prompt would run in a shell or search the history.
_OTHER_MODES: Mapping[str, re.Pattern[str]] = {
    "shell_mode": re.compile(r" ! "),
    "search": re.compile(r" \(r:\)"),
}
_MARKER_COLUMNS = 3
_BOX_BOTTOM = re.compile(r"\s*╰─+╯\s*$")
_DIALOGS: Mapping[str, re.Pattern[str]] = {
    "trust": re.compile(r"Do you trust"),
    "login": re.compile(r"API Key|How would you like to authenticate", re.IGNORECASE),
    "permission": re.compile(r"● 1\. (?:Allow|Yes)"),
}


#: Shortcuts, a rule, the mode and the composer's upper edge: all that is above it before the program is up.
_STATUS_ROWS = 4


@dataclass(frozen=True, slots=True)
class _Composer:
    text: str
    #: Whether anything stands above it, be it only the banner. The first picture is painted long before the
    #: program takes an Enter.
    is_up: bool = True
    #: Why it takes no prompt; None when it does.
    mode: str | None = None


def read(screen: Screen) -> Surface:
    """The state of the TUI, with what it was seen by."""
    if screen.dead:
        return Surface(state="exited", evidence=("the pane is dead",))
    rows = [plain(row).rstrip() for row in screen.rows]
    title = screen.title.strip()
    if _ASKING_TITLE.match(title):
        return Surface(state="blocked", evidence=(f"title {title!r}",), dialog=_dialog(rows, "permission"))
    composer = _composer(rows, screen.cursor)
    if composer and composer.mode:
        return Surface(
            state="blocked", evidence=(f"the composer is in {composer.mode}",), dialog=composer.mode
        )
    if composer is None and _ends_with_box(rows):
        return Surface(
            state="blocked", evidence=("a box in the composer's place",), dialog=_dialog(rows, "unknown")
        )
    if _ACTIVE_TITLE.match(title):
        return Surface(
            state="active", evidence=(f"title {title!r}",), composer=composer.text if composer else None
        )
    return _resting(composer, title)


def _resting(composer: _Composer | None, title: str) -> Surface:
    is_idle = _IDLE_TITLE.match(title) is not None
    if composer is None:
        if is_idle:
            return Surface(state="unknown", evidence=("an idle title and no composer",))
        return Surface(state="starting", evidence=("neither a composer nor a title of its own",))
    if not composer.is_up:
        return Surface(state="starting", evidence=("a composer without a banner",), composer=composer.text)
    if not is_idle:
        return Surface(
            state="unknown",
            evidence=(f"a composer under the foreign title {title!r}",),
            composer=composer.text,
        )
    if composer.text:
        return Surface(state="draft", evidence=("a draft in the composer",), composer=composer.text)
    return Surface(state="ready", evidence=("an empty composer and an idle title",), composer="")


def _composer(rows: Sequence[str], cursor: tuple[int, int] | None) -> _Composer | None:
    """The composer around the cursor; None when the cursor stands elsewhere."""
    if cursor is None:
        return None
    column, row = cursor
    first = min(row, len(rows) - 1)
    while first >= 0 and _continues(rows[first]):
        first -= 1
    if first < 0:
        return None
    mode = next((name for name, marker in _OTHER_MODES.items() if marker.match(rows[first])), None)
    if mode:
        return _Composer("", mode=mode)
    if not _COMPOSER.match(rows[first] + " "):
        return None
    is_up = sum(map(bool, rows[:first])) > _STATUS_ROWS
    # The cursor stands before a placeholder, which begins with two spaces, and behind what was typed.
    is_empty = (column, row) == (_MARKER_COLUMNS, first) and rows[first][_MARKER_COLUMNS:].startswith("  ")
    return _Composer("" if is_empty else _text(rows, first), is_up=is_up)


def _text(rows: Sequence[str], first: int) -> str:
    """What stands in the composer that begins at row *first*."""
    lines = [rows[first][_MARKER_COLUMNS:]]
    for row in rows[first + 1 :]:
        if not _continues(row):
            break
        lines.append(row[_MARKER_COLUMNS:])
    return "\n".join(lines).rstrip()


def _continues(row: str) -> bool:
    """Whether *row* may belong to a composer that began above it."""
    return not row[:_MARKER_COLUMNS].strip()


def _ends_with_box(rows: Sequence[str]) -> bool:
    last = next((row for row in reversed(rows) if row), "")
    return _BOX_BOTTOM.match(last) is not None


def _dialog(rows: Sequence[str], otherwise: str) -> str:
    """The name of the dialog in the last box."""
    top = max((index for index, row in enumerate(rows) if row.lstrip().startswith("╭")), default=0)
    text = " ".join(rows[top:])
    return next((name for name, words in _DIALOGS.items() if words.search(text)), otherwise)
