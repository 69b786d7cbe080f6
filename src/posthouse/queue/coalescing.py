"""Coalesces control intents at the head of the queue. Pure.

A control intent is an interrupt, or a prompt that consists of `/compact`, `/clear` or `/new`. A run of
adjacent intents for the same instance is reduced to one interrupt and the strongest context action.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, takewhile

from posthouse.queue.queue import QueuedRequest

INTERRUPT = "interrupt"
PROMPT = "submit_prompt"
REASON = "superseded_control_intent"
#: A stronger action supersedes the weaker ones.
_RANKS = {"/compact": 1, "/clear": 2, "/new": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A row that is not executed, because *by* has the same effect."""

    row: QueuedRequest
    by: QueuedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class CoalescingPlan:
    """How to coalesce the head of the queue."""

    #: Rows to execute, in order; the first is next.
    effective: tuple[QueuedRequest, ...]
    superseded: tuple[Superseded, ...] = ()


def plan(rows: Iterable[QueuedRequest]) -> CoalescingPlan | None:
    """The plan for accepted *rows*, oldest first; None without rows.

    Stops reading at the first row that is not a control intent or belongs to another instance.
    """
    rest = iter(rows)
    oldest = next(rest, None)
    if oldest is None:
        return None
    if action_of(oldest) is None:
        return CoalescingPlan(effective=(oldest,))
    return _plan_run(list(_run(oldest, rest)))


def action_of(row: QueuedRequest) -> str | None:
    """The contract's label of a control intent; None for everything else."""
    if row.defect is not None:
        return None
    if row.kind == INTERRUPT:
        return INTERRUPT
    if row.kind != PROMPT:
        return None
    text = str(row.payload.get("prompt", "")).strip()
    return f"{PROMPT}:{text}" if text in _RANKS else None


def _run(oldest: QueuedRequest, rest: Iterator[QueuedRequest]) -> Iterator[QueuedRequest]:
    return chain(
        (oldest,), takewhile(lambda row: row.epoch == oldest.epoch and action_of(row) is not None, rest)
    )


def _plan_run(run: list[QueuedRequest]) -> CoalescingPlan:
    interrupts = [row for row in run if row.kind == INTERRUPT]
    contexts = [row for row in run if row.kind != INTERRUPT]
    # Of equal intents the last wins: it is the most recent request.
    kept = [*interrupts[:1], *([max(contexts, key=_strength)] if contexts else [])]
    superseded = [
        Superseded(row=row, by=winner)
        for winner in kept
        for row in (interrupts if winner.kind == INTERRUPT else contexts)
        if row is not winner
    ]
    superseded.sort(key=lambda one: one.row.sequence)
    return CoalescingPlan(effective=tuple(kept), superseded=tuple(superseded))


def _strength(row: QueuedRequest) -> tuple[int, int]:
    return _RANKS[str(row.payload["prompt"]).strip()], row.sequence
