"""Which of a pack's signs a screen with a composer shows."""

import re
from dataclasses import dataclass

from posthouse.tools.packs import turns
from posthouse.tools.packs.composers import Found
from posthouse.tools.packs.pack import Sign
from posthouse.tools.packs.view import View


@dataclass(frozen=True, slots=True)
class Seen:
    """A sign and the words that showed it."""

    sign: Sign
    words: str
    match: re.Match[str]

    @property
    def evidence(self) -> str:
        return self.sign.evidence or self.words

    @property
    def detail(self) -> str:
        return self.match.groupdict().get("detail") or self.words

    @property
    def resets(self) -> str | None:
        """When a limit ends, in the CLI's own words."""
        return self.match.groupdict().get("resets")


def look(view: View, composer: Found) -> list[Seen]:
    """The signs that *view* shows, in the pack's order."""
    found = (_seen(view, sign, composer) for sign in view.pack.signs)
    return [seen for seen in found if seen]


def _seen(view: View, sign: Sign, composer: Found) -> Seen | None:
    if sign.region == "footer":
        text = view.page.text(composer.end, len(view.page.rows))
        match = sign.words.search(text)
        return Seen(sign, match[0], match) if match else None
    return _seen_in_turn(view, sign)


def _seen_in_turn(view: View, sign: Sign) -> Seen | None:
    rows = view.page.rows
    for row in range(view.end - 1, view.turn - 1, -1):
        if not rows[row]:
            continue
        match = turns.said(view.page, row, sign.words, is_painted=sign.is_painted, is_block=sign.is_block)
        if match:
            return Seen(sign, match.string.strip(), match)
        if sign.region == "edge" and not rows[row][0].isspace():
            return None
    return None


def is_queued(view: View) -> bool:
    """Whether a message waits, right above the composer."""
    queued, rows = view.pack.turn.queued, view.page.rows
    for row in range(view.end - 1, -1, -1):
        if queued is None or not rows[row] or not rows[row][0].isspace():
            return False
        if queued.match(rows[row]):
            return True
    return False
