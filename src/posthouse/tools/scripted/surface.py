"""Reads the state of the scripted agent's TUI from a capture. Pure.

Checked in this order: a dead pane; a dialog, which would swallow typed text; the title, which alone shows
in every state whether a turn runs; the composer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from posthouse.terminal.screen import Screen, Surface, SurfaceState
from posthouse.tools.scripted import marks
from posthouse.tools.scripted.appearance import CODEX, GEMINI, PLAIN, Appearance
from posthouse.tools.scripted.marks import TurnMarks

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_ACTIVE_TITLE = re.compile(r"[\u2800-\u28ff✦] ")
_IDLE_TITLE = re.compile(r"[✳◇] ")
_CHOICE = re.compile(r"[\s│]*[❯›●] \d+\. \S")
_CANCEL = re.compile(r"esc to (?:cancel|quit)", re.IGNORECASE)
_DIALOGS = {"permission": "Do you want to proceed?", "trust": "Do you trust", "question": "The agent asks"}
_APPEARANCES = (PLAIN, GEMINI, CODEX)


@dataclass(frozen=True, slots=True)
class _Composer:
    appearance: Appearance
    row: int
    text: str


def read(screen: Screen) -> Surface:
    """The state of the TUI, with its evidence."""
    if screen.dead:
        return Surface(state="exited", evidence=("the pane is dead",))
    plain = [_SGR.sub("", row).rstrip(" ") for row in screen.rows]
    composer = _composer(screen.rows, plain)
    blocked = _blocked(screen.title, plain, above=composer.row if composer else 0)
    if blocked is not None:
        return blocked
    if composer is None:
        return _without_composer(screen.title, plain)
    found = marks.find_above(composer.appearance, screen.rows, plain, composer.row)
    if _ACTIVE_TITLE.match(screen.title):
        return Surface(
            state="queued" if found.is_queued else "active",
            evidence=(f"title {screen.title.strip()!r}",),
            composer=composer.text,
            title="active",
        )
    if not _is_up(screen.title, plain, composer):
        evidence = ("a composer that is not ready yet",)
        return Surface(state="starting", evidence=evidence, composer=composer.text)
    return _idle(composer, found)


def _blocked(title: str, plain: Sequence[str], *, above: int) -> Surface | None:
    """A dialog, or a title that announces one; None if there is neither."""
    is_announced = "Action Required" in title
    found = _dialog(plain, above=above)
    if found is None and not is_announced:
        return None
    name, first = found or ("unknown", len(plain))
    return Surface(
        state="blocked",
        evidence=(f"dialog: {name}" if found else f"title {title.strip()!r}",),
        dialog=name,
        choices=marks.choices(plain, first),
        title="asking" if is_announced else None,
    )


def _without_composer(title: str, plain: Sequence[str]) -> Surface:
    if _ACTIVE_TITLE.match(title):
        return Surface(state="active", evidence=(f"title {title.strip()!r}",), title="active")
    state: SurfaceState = "unknown" if any(plain) else "starting"
    return Surface(state=state, evidence=("no composer" if any(plain) else "an empty screen",))


def _idle(composer: _Composer, found: TurnMarks) -> Surface:
    state: SurfaceState = "draft" if composer.text else "ready"
    evidence = "a draft in the composer" if composer.text else "an empty composer and an idle title"
    return Surface(
        state="limited" if found.is_limited else state,
        evidence=("a usage limit above the composer" if found.is_limited else evidence,),
        composer=composer.text,
        outcome=found.outcome,
        error_kind=found.error_kind,
        resets=found.resets,
        title="idle",
    )


def _is_up(title: str, plain: Sequence[str], composer: _Composer) -> bool:
    """Whether the program is ready, not only its first frame drawn."""
    if composer.appearance.idle_title.startswith("{"):
        return any(" · " in row for row in plain[composer.row + 1 :])
    return _IDLE_TITLE.match(title) is not None


def _composer(rows: Sequence[str], plain: Sequence[str]) -> _Composer | None:
    """The lowest row that is a composer in one of the known appearances."""
    found = (_composer_of(appearance, rows, plain) for appearance in _APPEARANCES)
    return max((each for each in found if each), key=lambda each: each.row, default=None)


def _composer_of(appearance: Appearance, rows: Sequence[str], plain: Sequence[str]) -> _Composer | None:
    for row in range(len(plain) - 1, -1, -1):
        if not plain[row].startswith(appearance.marker.rstrip(" ")):
            continue
        if appearance.rule_above and not (row and _is_rule(plain[row - 1], appearance.rule_above)):
            continue
        end = _end(appearance, plain, row)
        if end is None:
            return None
        first = "".join(_typed(rows[row], skip=len(appearance.marker)))
        rest = [line[len(appearance.marker) :] for line in plain[row + 1 : end]]
        return _Composer(appearance, row, "\n".join([first, *rest]).rstrip())
    return None


def _end(appearance: Appearance, plain: Sequence[str], row: int) -> int | None:
    """The row after the composer's text; None if its end is missing."""
    for below in range(row + 1, len(plain)):
        if appearance.rule_below and _is_rule(plain[below], appearance.rule_below):
            return below
        if not appearance.rule_below and not plain[below].strip():
            return below
    return None


def _is_rule(row: str, character: str) -> bool:
    return len(row) >= 3 and not row.strip(character)


def _typed(row: str, *, skip: int) -> Iterator[str]:
    """The typed characters of *row* after the marker: a placeholder is dim."""
    is_dim, position, index = False, 0, 0
    while position < len(row):
        if match := _SGR.match(row, position):
            is_dim = _dim_after(match.group(1), is_dim)
            position = match.end()
            continue
        if index >= skip and not is_dim:
            yield row[position]
        position, index = position + 1, index + 1


def _dim_after(parameters: str, is_dim: bool) -> bool:
    codes = parameters.split(";")
    if codes[0] in ("38", "48"):  # a colour: its parameters are not attributes
        return is_dim
    for code in codes:
        if code in ("", "0", "22"):
            is_dim = False
        elif code == "2":
            is_dim = True
    return is_dim


def _dialog(plain: Sequence[str], *, above: int) -> tuple[str, int] | None:
    """The dialog on the screen and its first row.

    A dialog has a selected numbered choice at or below row *above*, and a cancel hint below it. An answer
    with such a list is above the composer; a dialog replaces the composer.
    """
    chosen = [row for row in range(above, len(plain)) if _CHOICE.match(plain[row])]
    # A narrow window wraps these rows between any two words.
    if not chosen or not _CANCEL.search(" ".join(" ".join(plain[chosen[-1] :]).split())):
        return None
    text = " ".join(" ".join(plain).split())
    begins = max((row for row in range(chosen[-1]) if _is_rule(plain[row], "─")), default=above)
    return next((name for name, words in _DIALOGS.items() if words in text), "unknown"), begins
