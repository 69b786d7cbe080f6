"""Writes changes of a TUI's inferred state to the journal."""

from typing import Any, Protocol

from posthouse.support import clock
from posthouse.tracking import drift
from posthouse.tracking.tracker import TuiState

#: Labels of a dialog repeat commands, which may be long.
_MAX_LABEL = 80
_MAX_CHOICES = 20


class EventSink(Protocol):
    """Accepts events."""

    def add(self, kind: str, /, **fields: object) -> None: ...


class TuiEventWriter:
    """Writes each change once, in order."""

    def __init__(self, journal: EventSink) -> None:
        self._journal = journal
        #: How often the drift alarm was raised.
        self.drift_alerts = 0

    def record(self, before: TuiState, now: TuiState) -> None:
        """Write the events for the change from *before* to *now*."""
        if _event_key(before) != _event_key(now):
            self._journal.add("tui_state", **_state_fields(before, now))
        if now.inferred.state == "blocked" and _dialog_key(before) != _dialog_key(now):
            self._journal.add("dialog_opened", dialog=now.inferred.dialog, choices=labels_of(now))
        if drift.is_lasting(now.inferred) and not drift.is_lasting(before.inferred):
            self._record_disagreement(now)
        if now.drift.alerted_at != before.drift.alerted_at:
            self.drift_alerts += 1
            self._journal.add("tui_drift", disagreements=now.drift.count, detail=now.drift.message)

    def _record_disagreement(self, now: TuiState) -> None:
        found = now.inferred.disagreement
        assert found is not None
        self._journal.add(
            "tui_disagreement",
            between=list(found.between),
            detail=found.message,
            evidence={source: one.value for source, one in now.evidence.items()},
        )


def labels_of(state: TuiState) -> list[str]:
    """Choices of the open dialog, in order, each truncated to 80 characters."""
    return [one.label[:_MAX_LABEL] for one in state.inferred.choices[:_MAX_CHOICES]]


def _state_fields(before: TuiState, now: TuiState) -> dict[str, Any]:
    verdict = now.inferred
    return {
        "state": verdict.state,
        "previous": before.inferred.state,
        "outcome": now.outcome,
        "error_kind": now.error_kind,
        "dialog": verdict.dialog,
        "detail": verdict.detail,
        "resets_at_utc": None if verdict.resets_at is None else clock.iso_seconds(verdict.resets_at),
        "decided_by": list(verdict.decided_by),
    }


def _event_key(state: TuiState) -> tuple[object, ...]:
    """A `tui_state` event is written when this changes. A retry countdown counts as one state."""
    verdict = state.inferred
    is_detailed = bool(verdict.detail)
    return (
        verdict.state,
        state.outcome,
        state.error_kind,
        verdict.dialog,
        verdict.resets_at,
        is_detailed,
    )


def _dialog_key(state: TuiState) -> tuple[object, ...]:
    return state.inferred.state, state.inferred.dialog, tuple(labels_of(state))
