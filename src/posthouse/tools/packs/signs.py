"""Finds a pack's signs on a screen with a composer."""

import re
from dataclasses import dataclass

from posthouse.tools.packs import turns
from posthouse.tools.packs.composers import ComposerMatch
from posthouse.tools.packs.pack import ScreenSign
from posthouse.tools.packs.view import ScreenView


@dataclass(frozen=True, slots=True)
class SignMatch:
    """A sign and the words that matched it."""

    sign: ScreenSign
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
        """When a usage limit ends, as text of the CLI."""
        return self.match.groupdict().get("resets")


def find(view: ScreenView, composer: ComposerMatch) -> list[SignMatch]:
    """The signs on *view*, in the pack's order."""
    found = (_match_sign(view, sign, composer) for sign in view.pack.signs)
    return [match for match in found if match]


def _match_sign(view: ScreenView, sign: ScreenSign, composer: ComposerMatch) -> SignMatch | None:
    if sign.region == "footer":
        text = view.page.text(composer.end, len(view.page.rows))
        match = sign.words.search(text)
        return SignMatch(sign, match[0], match) if match else None
    return _match_in_turn(view, sign)


def _match_in_turn(view: ScreenView, sign: ScreenSign) -> SignMatch | None:
    rows = view.page.rows
    for row in range(view.end - 1, view.turn - 1, -1):
        if not rows[row]:
            continue
        match = turns.match_row(
            view.page, row, sign.words, is_painted=sign.is_painted, is_block=sign.is_block
        )
        if match:
            return SignMatch(sign, match.string.strip(), match)
        if sign.region == "edge" and not rows[row][0].isspace():
            return None
    return None


def is_queued(view: ScreenView) -> bool:
    """Whether a queued message is directly above the composer."""
    queued, rows = view.pack.turn.queued, view.page.rows
    for row in range(view.end - 1, -1, -1):
        if queued is None or not rows[row] or not rows[row][0].isspace():
            return False
        if queued.match(rows[row]):
            return True
    return False
