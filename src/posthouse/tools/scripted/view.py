"""The live part of the screen: the running turn's row, the composer or a dialog, the footer. Pure."""

from dataclasses import dataclass

from posthouse.tools.scripted import cells
from posthouse.tools.scripted.appearance import BRAILLE, Appearance
from posthouse.tools.scripted.dialog import Dialog

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_MIN_COMPOSER_ROWS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The values for the templates of an appearance."""

    folder: str
    path: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveView:
    """The content of the live part at one moment."""

    appearance: Appearance
    labels: Labels
    columns: int
    rows: int
    draft: str
    #: The cursor position in the draft.
    cursor: int
    #: The unfinished last line of the answer.
    tail: str
    #: None when no turn runs.
    active_seconds: float | None
    queued: tuple[str, ...]
    dialog: Dialog | None
    #: Replaces the footer: "Press Ctrl-C again to exit".
    notice: str
    #: False until the program is ready.
    is_up: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows with escapes, and the cursor position in them (row, column)."""

    rows: tuple[str, ...]
    cursor: tuple[int, int]


def title(view: LiveView) -> str:
    """The terminal title; "" leaves it unchanged."""
    if not view.is_up:
        return ""
    appearance = view.appearance
    template = appearance.idle_title if view.active_seconds is None else appearance.active_title
    if view.dialog is not None:
        # Some CLIs announce a question of the running turn; none announces a dialog at the start.
        template = appearance.idle_title if view.dialog.kind == "trust" else appearance.blocked_title
    return _fill(template, view)


def frame(view: LiveView) -> Frame:
    """The live part, never taller than the screen."""
    above = _activity(view)
    if view.dialog is not None:
        body, cursor = _dialog_rows(view, view.dialog), (0, 0)
    else:
        body, cursor = _composer_rows(view)
    room = max(0, view.rows - 1 - len(body))
    above = above[-room:] if room else []
    rows = [*above, *body]
    hidden = max(0, len(rows) - view.rows)
    return Frame(tuple(rows[hidden:]), (max(0, cursor[0] + len(above) - hidden), cursor[1]))


def _activity(view: LiveView) -> list[str]:
    rows = cells.wrap(view.tail, view.columns) if view.tail else []
    if view.active_seconds is not None:
        rows += ["", *_clipped(_fill(view.appearance.working, view), view.columns), ""]
    for text in view.queued:
        rows += _clipped(f"  {view.appearance.past_marker}{text.splitlines()[0]}", view.columns)
    return rows


def _composer_rows(view: LiveView) -> tuple[list[str], tuple[int, int]]:
    appearance, indent = view.appearance, cells.width(view.appearance.marker)
    columns = max(1, view.columns - indent)
    lines = cells.wrap(view.draft, columns)
    before = cells.wrap(view.draft[: view.cursor], columns)
    row, column = len(before) - 1, cells.width(before[-1])
    if column == columns:  # the cell behind a full row is the first of the next
        row, column = row + 1, 0
        lines += [""] if row == len(lines) else []
    footer = _footer(view)
    above = [appearance.rule_above * view.columns] if appearance.rule_above else []
    below = [appearance.rule_below * view.columns] if appearance.rule_below else [""]
    room = max(_MIN_COMPOSER_ROWS, view.rows - len(above) - len(below) - len(footer) - 2)
    first = min(max(0, len(lines) - room), row)
    shown = lines[first : first + room]
    if not view.draft:
        text = appearance.queued_placeholder if view.queued else appearance.placeholder
        shown = [f"{_DIM}{cells.wrap(text, columns)[0]}{_PLAIN}" if text else ""]
    drafted = [f"{_BOLD}{appearance.marker}{_PLAIN}{shown[0]}", *(" " * indent + line for line in shown[1:])]
    return [*above, *drafted, *below, *footer], (len(above) + row - first, indent + column)


def _footer(view: LiveView) -> list[str]:
    appearance = view.appearance
    hint = appearance.active_footer if view.active_seconds is not None else appearance.idle_footer
    rows = _clipped(view.notice or hint, view.columns)
    if appearance.status and view.is_up:
        rows = [*_clipped(_fill(appearance.status, view), view.columns), *rows]
    return rows


def _dialog_rows(view: LiveView, dialog: Dialog) -> list[str]:
    appearance, rows = view.appearance, ["─" * view.columns]
    for line in dialog.lines:
        rows += cells.wrap(f" {line}", view.columns)
    rows.append("")
    for number, choice in enumerate(dialog.choices):
        mark = appearance.selector if number == dialog.selected else " "
        rows += _clipped(f" {mark} {number + 1}. {choice}", view.columns)
    return [*rows, "", *cells.wrap_words(appearance.dialog_footer, view.columns)]


def _fill(template: str, view: LiveView) -> str:
    seconds = view.active_seconds or 0.0
    return template.format(
        folder=view.labels.folder,
        path=view.labels.path,
        model=view.labels.model,
        seconds=int(seconds),
        spinner=BRAILLE[int(seconds * 2) % len(BRAILLE)],
    )


def _clipped(text: str, columns: int) -> list[str]:
    return [cells.wrap(text, columns)[0]]
