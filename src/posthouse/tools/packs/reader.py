"""Reads the state of a TUI from a screen, with a pack.

Checked in this order: a dead pane or exit text; a dialog, which replaces the composer and would swallow typed
text; signs of activity, of which the title is the best; signs of a usage limit; the composer.
"""

from collections.abc import Sequence
from dataclasses import replace

from posthouse.terminal.screen import ChatDiagnostic, Screen, Surface
from posthouse.tools.packs import dialogs, signs, turns
from posthouse.tools.packs.composers import ComposerMatch
from posthouse.tools.packs.pack import Pack
from posthouse.tools.packs.page import flat
from posthouse.tools.packs.signs import SignMatch
from posthouse.tools.packs.view import ScreenView

#: How much of the CLI's text is reported.
_MAX_DETAIL_CHARS = 240
_TITLE_EVIDENCE = {
    "asking": "the title asks for a person",
    "active": "the title of an agent at work",
    "idle": "the title of an idle agent",
    None: "no status in the title",
}


def read(pack: Pack, screen: Screen) -> Surface:
    """The state of the TUI, with its evidence."""
    if screen.dead:
        return Surface(state="exited", evidence=("the pane is dead",), pack=pack.label)
    view = ScreenView(pack, screen)
    return replace(_read(view), title=view.title, pack=pack.label)


def _read(view: ScreenView) -> Surface:
    if words := view.exit_text:
        return Surface(state="exited", evidence=(f"the program's last words: {words[:_MAX_DETAIL_CHARS]}",))
    composer = view.composer
    if composer is None:
        return _read_dialog(view, first=view.turn) or _without_composer(view)
    if view.title == "asking" and (dialog := _read_dialog(view, first=composer.end)):
        return dialog
    return _with_composer(view, composer)


def _read_dialog(view: ScreenView, *, first: int) -> Surface | None:
    """A dialog in the rows from *first* on. The title may announce one before it is drawn."""
    found = dialogs.find(view.page, view.pack.dialog, first=first, title=view.title)
    if found is None:
        is_announced = view.title == "asking"
        evidence = (_TITLE_EVIDENCE["asking"],)
        return Surface(state="blocked", evidence=evidence, dialog="unknown") if is_announced else None
    last = _last_outcome(view, found.top)
    return Surface(
        state="blocked",
        evidence=(f"a dialog in the composer's place: {found.name}", _TITLE_EVIDENCE[view.title]),
        dialog=found.name,
        choices=found.choices,
        detail=found.detail[:_MAX_DETAIL_CHARS],
        outcome=last.outcome,
        error_kind=last.kind,
    )


def _without_composer(view: ScreenView) -> Surface:
    rows, bottom, banner = view.page.rows, view.pack.dialog.bottom, view.pack.banner
    if view.title == "active":
        return Surface(state="active", evidence=(_TITLE_EVIDENCE["active"],))
    if view.page.is_blank:
        return Surface(state="starting", evidence=("an empty screen",))
    if name := dialogs.half_painted(view.page, view.pack.dialog, first=view.turn):
        evidence = ("a dialog that is not painted yet", _TITLE_EVIDENCE[view.title])
        return Surface(state="blocked", evidence=evidence, dialog=name)
    if view.title is None and banner and any(banner.search(row) for row in rows):
        return Surface(state="starting", evidence=("a banner without a composer",))
    if bottom and bottom.match(next(row for row in reversed(rows) if row)):
        return Surface(state="blocked", evidence=("a box in the composer's place",), dialog="unknown")
    return Surface(state="unknown", evidence=("neither a composer nor a dialog",))


def _with_composer(view: ScreenView, composer: ComposerMatch) -> Surface:
    seen = signs.find(view, composer)
    detail = flat([found.detail for found in seen if found.sign.is_detail])[:_MAX_DETAIL_CHARS]
    base = Surface(state="unknown", evidence=(), composer=composer.text, detail=detail)
    if blocked := _blocked_composer(composer, seen):
        last = _last_outcome(view, view.end)
        return replace(blocked, outcome=last.outcome, error_kind=last.kind)
    if working := _activity_evidence(view, composer, seen):
        waits = signs.is_queued(view) or any(found.sign.state == "queued" for found in seen)
        return replace(base, state="queued" if waits else "active", evidence=working)
    return _read_idle(view, composer, seen, base)


def _blocked_composer(composer: ComposerMatch, seen: Sequence[SignMatch]) -> Surface | None:
    """The blocked state of a composer that is visible but accepts no prompt; None if it accepts one."""
    for found in seen:
        if found.sign.state == "blocked":
            return Surface(state="blocked", evidence=(found.evidence,), dialog=found.sign.dialog)
    if composer.mode:
        evidence = (f"the composer is in {composer.mode}",)
        return Surface(state="blocked", evidence=evidence, dialog=composer.mode)
    return None


def _last_outcome(view: ScreenView, end: int) -> turns.ScreenOutcome:
    """The outcome of the last turn above row *end*; under a dialog it may still run."""
    is_over = turns.is_over(view.page, view.pack.turn, end=end)
    return turns.last_outcome(view.page, view.pack.turn, end=end) if is_over else turns.NO_OUTCOME


def _activity_evidence(
    view: ScreenView, composer: ComposerMatch, seen: Sequence[SignMatch]
) -> tuple[str, ...]:
    """The evidence that a turn runs; empty if there is none."""
    if view.title == "idle" and view.pack.title.is_enough:
        return ()
    evidence = tuple(found.evidence for found in seen if found.sign.state in ("active", "queued"))
    if view.title == "active":
        return (_TITLE_EVIDENCE["active"], *evidence)
    if view.title is None and composer.looks_busy:
        return (*evidence, "a composer whose marker is greyed")
    return evidence


def _read_idle(
    view: ScreenView, composer: ComposerMatch, seen: Sequence[SignMatch], base: Surface
) -> Surface:
    if not composer.is_up and not composer.text:
        return replace(base, state="starting", evidence=("a composer without a program behind it",))
    if view.has_foreign_title:
        return replace(base, evidence=("a composer under a title that is not the tool's",))
    last = turns.last_outcome(view.page, view.pack.turn, end=composer.top)
    idle = replace(_with_chat(view, base), outcome=last.outcome, error_kind=last.kind)
    more = (
        _TITLE_EVIDENCE[view.title],
        *([f"the last turn: {last.words[:_MAX_DETAIL_CHARS]}"] if last.words else []),
    )
    limit = next((found for found in seen if found.sign.state == "limited"), None)
    if limit:
        evidence, words = (limit.evidence, *more), limit.words[:_MAX_DETAIL_CHARS]
        return replace(idle, state="limited", evidence=evidence, detail=words, resets=limit.resets)
    if composer.text:
        return replace(idle, state="draft", evidence=("a draft in the composer", *more))
    return replace(idle, state="ready", evidence=("an empty composer", *more))


def _with_chat(view: ScreenView, base: Surface) -> Surface:
    if not view.pack.diagnostics:
        return base
    text = view.page.text(view.turn, view.end)
    for diagnostic in view.pack.diagnostics:
        if match := diagnostic.words.search(text):
            preview = text[match.start() :][:_MAX_DETAIL_CHARS]
            diagnosed = ChatDiagnostic(error_type=diagnostic.error_type, preview=preview)
            return replace(base, chat_context="degraded", chat_diagnostic=diagnosed)
    return replace(base, chat_context="current")
