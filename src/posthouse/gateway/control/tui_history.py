"""What a TUI's belief tells the journal as it changes."""

from typing import Any, Protocol

from posthouse.support import clock
from posthouse.tracking import drift
from posthouse.tracking.tracker import Belief

#: Labels of a dialog repeat commands, which may be long.
_MAX_LABEL = 80
_MAX_CHOICES = 20


class Journal(Protocol):
    """Where events are told."""

    def add(self, kind: str, /, **fields: object) -> None: ...


class TuiStory:
    """Tells changes once, in the order in which they came."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        #: How often the drift alarm was raised.
        self.alarms = 0

    def tell(self, before: Belief, now: Belief) -> None:
        """Tell how *now* differs from *before*."""
        if _essence(before) != _essence(now):
            self._journal.add("tui_state", **_state(before, now))
        if now.verdict.state == "blocked" and _dialog(before) != _dialog(now):
            self._journal.add("dialog_opened", dialog=now.verdict.dialog, choices=labels_of(now))
        if drift.is_lasting(now.verdict) and not drift.is_lasting(before.verdict):
            self._tell_disagreement(now)
        if now.drift.alarmed_at != before.drift.alarmed_at:
            self.alarms += 1
            self._journal.add("tui_drift", disagreements=now.drift.count, detail=now.drift.words)

    def _tell_disagreement(self, now: Belief) -> None:
        found = now.verdict.disagreement
        assert found is not None
        self._journal.add(
            "tui_disagreement",
            between=list(found.between),
            detail=found.words,
            evidence={source: one.says for source, one in now.evidence.items()},
        )


def labels_of(belief: Belief) -> list[str]:
    """What the open dialog offers, in order, each cut to a line's length."""
    return [one.label[:_MAX_LABEL] for one in belief.verdict.choices[:_MAX_CHOICES]]


def _state(before: Belief, now: Belief) -> dict[str, Any]:
    verdict = now.verdict
    return {
        "state": verdict.state,
        "previous": before.verdict.state,
        "outcome": now.outcome,
        "error_kind": now.error_kind,
        "dialog": verdict.dialog,
        "detail": verdict.detail,
        "resets_at_utc": None if verdict.resets_at is None else clock.iso_seconds(verdict.resets_at),
        "decided_by": list(verdict.decided_by),
    }


def _essence(belief: Belief) -> tuple[object, ...]:
    """What has to change before it is told. A retry counts its seconds: that it retries is told once."""
    verdict = belief.verdict
    is_detailed = bool(verdict.detail)
    return (
        verdict.state,
        belief.outcome,
        belief.error_kind,
        verdict.dialog,
        verdict.resets_at,
        is_detailed,
    )


def _dialog(belief: Belief) -> tuple[object, ...]:
    return belief.verdict.state, belief.verdict.dialog, tuple(labels_of(belief))
