"""The conversation above the composer: its last turn and that turn's outcome."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from posthouse.terminal.screen import ErrorKind, Outcome
from posthouse.tools.packs.pack import OutcomeMark, Pattern, Turn
from posthouse.tools.packs.page import ScreenPage


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenOutcome:
    """The outcome of a turn, as the screen shows it."""

    outcome: Outcome
    kind: ErrorKind | None = None
    #: The row that shows it.
    words: str = ""


NO_OUTCOME = ScreenOutcome(outcome="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A past prompt and the rows below it."""

    first: int
    end: int


def blocks(page: ScreenPage, pack: Turn, *, end: int) -> list[Block]:
    """The turns in the rows above *end*, newest first; the rows above the first prompt count as one."""
    starts = [row for row in range(end) if _begins(page, pack, row)]
    edges = [*([] if starts[:1] == [0] else [0]), *starts, end]
    found = [Block(first=first, end=last) for first, last in itertools.pairwise(edges)]
    return found[::-1]


def last_turn_row(page: ScreenPage, pack: Turn, *, end: int) -> int:
    """The row below the last prompt above *end*."""
    prompts = (row for row in range(end - 1, -1, -1) if _begins(page, pack, row))
    prompt = next(prompts, None)
    return 0 if prompt is None else prompt + 1


def _begins(page: ScreenPage, pack: Turn, row: int) -> bool:
    if not pack.begins.match(page.rows[row]):
        return False
    return not pack.is_dim or page.cells(row)[0].is_dim


def is_over(page: ScreenPage, pack: Turn, *, end: int) -> bool:
    """Whether a mark shows that no turn runs, whatever replaces the composer."""
    last = blocks(page, pack, end=end)[0]
    if pack.local and pack.local.match(page.rows[last.first]):
        return True
    lowest = next(_marks(page, pack, last), None)
    if lowest is None:
        return False
    mark = lowest[0]
    return mark.is_weak or mark.is_final or mark.outcome != "success"


def last_outcome(page: ScreenPage, pack: Turn, *, end: int) -> ScreenOutcome:
    """The outcome of the last turn above row *end*, if its rows show it."""
    for block in blocks(page, pack, end=end):
        result = _block_outcome(page, pack, block)
        prompt = page.rows[block.first]
        if result.outcome != "none" or (pack.resets and pack.resets.match(prompt)):
            return result
        if not (pack.local and pack.local.match(prompt)):
            break
    return NO_OUTCOME


def _block_outcome(page: ScreenPage, pack: Turn, block: Block) -> ScreenOutcome:
    weak = NO_OUTCOME
    for mark, words in _marks(page, pack, block):
        found = ScreenOutcome(outcome=mark.outcome, kind=mark.kind, words=words)
        if not mark.is_weak:
            return found
        weak = found if weak is NO_OUTCOME else weak
    return weak


def _marks(page: ScreenPage, pack: Turn, block: Block) -> Iterator[tuple[OutcomeMark, str]]:
    """The marks in *block*, lowest first."""
    for row in range(block.end - 1, block.first - 1, -1):
        if not page.rows[row]:
            continue
        for mark in pack.marks:
            if match := match_row(page, row, mark.row, is_painted=mark.is_painted, is_block=mark.is_block):
                if mark.outcome != "none":
                    yield mark, match.string.strip()
                break


def match_row(
    page: ScreenPage, row: int, pattern: Pattern, *, is_painted: bool, is_block: bool
) -> re.Match[str] | None:
    """The match of *pattern* at the start of *row*.

    *is_block*: also match the rows below, up to an empty one.
    *is_painted*: the group `words`, or else the whole match, must be coloured if the row has any colours.
    """
    match = pattern.match(_block(page, row) if is_block else page.rows[row])
    if match is None or not is_painted or not page.has_colour(row):
        return match
    column = match.start("words") if "words" in pattern.groupindex else match.start()
    return match if page.colour(row, column) else None


def _block(page: ScreenPage, row: int) -> str:
    end = next((below for below in range(row, len(page.rows)) if not page.rows[below]), len(page.rows))
    return page.text(row, end)
