"""Which control intents at the head of the queue are still worth carrying out. Pure.

A control intent is an interrupt, or a prompt that is nothing but `/compact`, `/clear` or `/new`. Of a run of
adjacent ones, meant for the same instance, one interrupt and the strongest context action are left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, takewhile

from posthouse.queue.queue import Row

INTERRUPT = "interrupt"
PROMPT = "submit_prompt"
REASON = "superseded_control_intent"
#: A stronger one makes the weaker ones pointless.
_RANKS = {"/compact": 1, "/clear": 2, "/new": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A row that is not carried out, because another does what it would have done."""

    row: Row
    by: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What becomes of the head of the queue."""

    #: What is carried out, in that order; the first is next.
    effective: tuple[Row, ...]
    superseded: tuple[Superseded, ...] = ()


def plan(rows: Iterable[Row]) -> Plan | None:
    """The plan for accepted *rows*, oldest first; None without any.

    Reads only as far as the first row that is no control intent, or is meant for another instance.
    """
    rest = iter(rows)
    oldest = next(rest, None)
    if oldest is None:
        return None
    if action_of(oldest) is None:
        return Plan(effective=(oldest,))
    return _plan_run(list(_run(oldest, rest)))


def action_of(row: Row) -> str | None:
    """The contract's label of a control intent; None for everything else."""
    if row.defect is not None:
        return None
    if row.kind == INTERRUPT:
        return INTERRUPT
    if row.kind != PROMPT:
        return None
    text = str(row.payload.get("prompt", "")).strip()
    return f"{PROMPT}:{text}" if text in _RANKS else None


def _run(oldest: Row, rest: Iterator[Row]) -> Iterator[Row]:
    return chain(
        (oldest,), takewhile(lambda row: row.epoch == oldest.epoch and action_of(row) is not None, rest)
    )


def _plan_run(run: list[Row]) -> Plan:
    interrupts = [row for row in run if row.kind == INTERRUPT]
    contexts = [row for row in run if row.kind != INTERRUPT]
    # Of equal ones the last wins: it is what was asked for most recently.
    kept = [*interrupts[:1], *([max(contexts, key=_strength)] if contexts else [])]
    superseded = [
        Superseded(row=row, by=winner)
        for winner in kept
        for row in (interrupts if winner.kind == INTERRUPT else contexts)
        if row is not winner
    ]
    superseded.sort(key=lambda one: one.row.sequence)
    return Plan(effective=tuple(kept), superseded=tuple(superseded))


def _strength(row: Row) -> tuple[int, int]:
    return _RANKS[str(row.payload["prompt"]).strip()], row.sequence
