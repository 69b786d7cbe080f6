"""The conversation above the composer: where its last turn begins, and how that ended."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from posthouse.terminal.screen import ErrorKind, Outcome
from posthouse.tools.packs.pack import Mark, Pattern, Turn
from posthouse.tools.packs.page import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a turn ended."""

    outcome: Outcome
    kind: ErrorKind | None = None
    #: The row that says so.
    words: str = ""


NOT_TOLD = Ended(outcome="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A past prompt and all that stands below it."""

    first: int
    end: int


def blocks(page: Page, pack: Turn, *, end: int) -> list[Block]:
    """The turns in the rows above *end*, newest first; what stands above the first prompt is one too."""
    starts = [row for row in range(end) if _begins(page, pack, row)]
    edges = [*([] if starts[:1] == [0] else [0]), *starts, end]
    found = [Block(first=first, end=last) for first, last in itertools.pairwise(edges)]
    return found[::-1]


def last_turn_row(page: Page, pack: Turn, *, end: int) -> int:
    """The row below the last prompt above *end*."""
    prompts = (row for row in range(end - 1, -1, -1) if _begins(page, pack, row))
    prompt = next(prompts, None)
    return 0 if prompt is None else prompt + 1


def _begins(page: Page, pack: Turn, row: int) -> bool:
    if not pack.begins.match(page.rows[row]):
        return False
    return not pack.is_dim or page.cells(row)[0].is_dim


def is_over(page: Page, pack: Turn, *, end: int) -> bool:
    """Whether a mark says that no turn runs, whatever stands in the composer's place."""
    last = blocks(page, pack, end=end)[0]
    if pack.local and pack.local.match(page.rows[last.first]):
        return True
    lowest = next(_marks(page, pack, last), None)
    if lowest is None:
        return False
    mark = lowest[0]
    return mark.is_weak or mark.is_final or mark.outcome != "success"


def ended(page: Page, pack: Turn, *, end: int) -> Ended:
    """How the last turn above row *end* ended, as far as its rows tell."""
    for block in blocks(page, pack, end=end):
        told = _told(page, pack, block)
        prompt = page.rows[block.first]
        if told.outcome != "none" or (pack.resets and pack.resets.match(prompt)):
            return told
        if not (pack.local and pack.local.match(prompt)):
            break
    return NOT_TOLD


def _told(page: Page, pack: Turn, block: Block) -> Ended:
    weak = NOT_TOLD
    for mark, words in _marks(page, pack, block):
        found = Ended(outcome=mark.outcome, kind=mark.kind, words=words)
        if not mark.is_weak:
            return found
        weak = found if weak is NOT_TOLD else weak
    return weak


def _marks(page: Page, pack: Turn, block: Block) -> Iterator[tuple[Mark, str]]:
    """The marks in *block*, lowest first."""
    for row in range(block.end - 1, block.first - 1, -1):
        if not page.rows[row]:
            continue
        for mark in pack.marks:
            if match := said(page, row, mark.row, is_painted=mark.is_painted, is_block=mark.is_block):
                if mark.outcome != "none":
                    yield mark, match.string.strip()
                break


def said(page: Page, row: int, pattern: Pattern, *, is_painted: bool, is_block: bool) -> re.Match[str] | None:
    """What *pattern* matches at the beginning of *row*; *is_painted*: in a colour, where the row has any.

    The words that are looked at are the group `words`, or all that the pattern matched. *is_block*: the rows
    below belong to it, up to an empty one.
    """
    match = pattern.match(_block(page, row) if is_block else page.rows[row])
    if match is None or not is_painted or not page.has_colour(row):
        return match
    column = match.start("words") if "words" in pattern.groupindex else match.start()
    return match if page.colour(row, column) else None


def _block(page: Page, row: int) -> str:
    end = next((below for below in range(row, len(page.rows)) if not page.rows[below]), len(page.rows))
    return page.text(row, end)
