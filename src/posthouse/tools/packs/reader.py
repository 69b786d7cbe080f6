"""What a screen means, read with a pack.

In this order: a dead pane, or what a program leaves when it ends; a dialog, which takes the composer's place
and would eat what is typed; signs of work, of which the title is the best; signs of a limit; the composer.
"""

from collections.abc import Sequence
from dataclasses import replace

from posthouse.terminal.screen import ChatDiagnostic, Screen, Surface
from posthouse.tools.packs import dialogs, signs, turns
from posthouse.tools.packs.composers import Found
from posthouse.tools.packs.pack import Pack
from posthouse.tools.packs.page import flat
from posthouse.tools.packs.signs import Seen
from posthouse.tools.packs.view import View

#: How much is told of the CLI's own words.
_MAX_WORDS = 240
_OF_TITLE = {
    "asking": "the title asks for a person",
    "active": "the title of an agent at work",
    "idle": "the title of an idle agent",
    None: "the title says nothing",
}


def read(pack: Pack, screen: Screen) -> Surface:
    """The state of the TUI, with what it was seen by."""
    if screen.dead:
        return Surface(state="exited", evidence=("the pane is dead",), pack=pack.label)
    view = View(pack, screen)
    return replace(_read(view), title=view.title, pack=pack.label)


def _read(view: View) -> Surface:
    if words := view.last_words:
        return Surface(state="exited", evidence=(f"the program's last words: {words[:_MAX_WORDS]}",))
    composer = view.composer
    if composer is None:
        return _asked(view, first=view.turn) or _without_composer(view)
    if view.title == "asking" and (asked := _asked(view, first=composer.end)):
        return asked
    return _with_composer(view, composer)


def _asked(view: View, *, first: int) -> Surface | None:
    """A dialog in the rows from *first* on. The title may tell of one before it is painted."""
    found = dialogs.find(view.page, view.pack.dialog, first=first, title=view.title)
    if found is None:
        is_announced = view.title == "asking"
        evidence = (_OF_TITLE["asking"],)
        return Surface(state="blocked", evidence=evidence, dialog="unknown") if is_announced else None
    ended = _ended(view, found.top)
    return Surface(
        state="blocked",
        evidence=(f"a dialog in the composer's place: {found.name}", _OF_TITLE[view.title]),
        dialog=found.name,
        choices=found.choices,
        detail=found.detail[:_MAX_WORDS],
        outcome=ended.outcome,
        error_kind=ended.kind,
    )


def _without_composer(view: View) -> Surface:
    rows, bottom, banner = view.page.rows, view.pack.dialog.bottom, view.pack.banner
    if view.title == "active":
        return Surface(state="active", evidence=(_OF_TITLE["active"],))
    if view.page.is_blank:
        return Surface(state="starting", evidence=("an empty screen",))
    if name := dialogs.half_painted(view.page, view.pack.dialog, first=view.turn):
        evidence = ("a dialog that is not painted yet", _OF_TITLE[view.title])
        return Surface(state="blocked", evidence=evidence, dialog=name)
    if view.title is None and banner and any(banner.search(row) for row in rows):
        return Surface(state="starting", evidence=("a banner without a composer",))
    if bottom and bottom.match(next(row for row in reversed(rows) if row)):
        return Surface(state="blocked", evidence=("a box in the composer's place",), dialog="unknown")
    return Surface(state="unknown", evidence=("neither a composer nor a dialog",))


def _with_composer(view: View, composer: Found) -> Surface:
    seen = signs.look(view, composer)
    detail = flat([found.detail for found in seen if found.sign.is_detail])[:_MAX_WORDS]
    about = Surface(state="unknown", evidence=(), composer=composer.text, detail=detail)
    if blocked := _taken(composer, seen):
        ended = _ended(view, view.end)
        return replace(blocked, outcome=ended.outcome, error_kind=ended.kind)
    if working := _working(view, composer, seen):
        waits = signs.is_queued(view) or any(found.sign.state == "queued" for found in seen)
        return replace(about, state="queued" if waits else "active", evidence=working)
    return _resting(view, composer, seen, about)


def _taken(composer: Found, seen: Sequence[Seen]) -> Surface | None:
    """A composer that is there and still takes no prompt."""
    for found in seen:
        if found.sign.state == "blocked":
            return Surface(state="blocked", evidence=(found.evidence,), dialog=found.sign.dialog)
    if composer.mode:
        evidence = (f"the composer is in {composer.mode}",)
        return Surface(state="blocked", evidence=evidence, dialog=composer.mode)
    return None


def _ended(view: View, end: int) -> turns.Ended:
    """How the last turn above row *end* ended; below a dialog it may still run."""
    is_over = turns.is_over(view.page, view.pack.turn, end=end)
    return turns.ended(view.page, view.pack.turn, end=end) if is_over else turns.NOT_TOLD


def _working(view: View, composer: Found, seen: Sequence[Seen]) -> tuple[str, ...]:
    """What says that a turn runs; empty when nothing does."""
    if view.title == "idle" and view.pack.title.is_enough:
        return ()
    told = tuple(found.evidence for found in seen if found.sign.state in ("active", "queued"))
    if view.title == "active":
        return (_OF_TITLE["active"], *told)
    if view.title is None and composer.looks_busy:
        return (*told, "a composer whose marker is greyed")
    return told


def _resting(view: View, composer: Found, seen: Sequence[Seen], about: Surface) -> Surface:
    if not composer.is_up and not composer.text:
        return replace(about, state="starting", evidence=("a composer without a program behind it",))
    if view.is_foreign:
        return replace(about, evidence=("a composer under a title that is not the tool's",))
    ended = turns.ended(view.page, view.pack.turn, end=composer.top)
    told = replace(_with_chat(view, about), outcome=ended.outcome, error_kind=ended.kind)
    more = (_OF_TITLE[view.title], *([f"the last turn: {ended.words[:_MAX_WORDS]}"] if ended.words else []))
    limit = next((found for found in seen if found.sign.state == "limited"), None)
    if limit:
        evidence, words = (limit.evidence, *more), limit.words[:_MAX_WORDS]
        return replace(told, state="limited", evidence=evidence, detail=words, resets=limit.resets)
    if composer.text:
        return replace(told, state="draft", evidence=("a draft in the composer", *more))
    return replace(told, state="ready", evidence=("an empty composer", *more))


def _with_chat(view: View, about: Surface) -> Surface:
    if not view.pack.diagnostics:
        return about
    text = view.page.text(view.turn, view.end)
    for diagnostic in view.pack.diagnostics:
        if match := diagnostic.words.search(text):
            preview = text[match.start() :][:_MAX_WORDS]
            told = ChatDiagnostic(error_type=diagnostic.error_type, preview=preview)
            return replace(about, chat_context="degraded", chat_diagnostic=told)
    return replace(about, chat_context="current")
