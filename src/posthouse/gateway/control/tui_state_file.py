"""The inferred TUI state on disk, for agent listings. Derived data; removed with its gateway."""

import logging
from pathlib import Path
from typing import Any

from posthouse.contracts import gateway_files as gf
from posthouse.support import clock, files
from posthouse.tracking.tracker import TuiState


class TuiStateFile:
    """Keeps the file equal to the inferred state; written only when its content changes."""

    def __init__(self, folder: Path | None, log: logging.Logger) -> None:
        self._path = None if folder is None else folder / gf.TUI
        self._log = log
        self._written: dict[str, Any] | None = None

    def update(self, state: TuiState) -> None:
        """Write the state. A failure is only logged: readers do not depend on the file."""
        content = _content(state)
        if self._path is None or content == self._written:
            return
        self._written = content
        try:
            files.write_json(self._path, content, durable=False)
        except OSError as error:
            self._log.warning("TUI state file could not be written", extra={"error": str(error)})

    def remove(self) -> None:
        """Remove the file. A failure is only logged."""
        if self._path is None:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            self._log.warning("TUI state file could not be removed", extra={"error": str(error)})


def _content(state: TuiState) -> dict[str, Any]:
    verdict, alarm = state.inferred, state.drift.alerted_at
    return {
        "schema_version": 1,
        "state": verdict.state,
        "since_utc": clock.iso_seconds(state.state_since),
        "outcome": state.outcome,
        "error_kind": state.error_kind,
        "dialog": verdict.dialog,
        "resets_at_utc": None if verdict.resets_at is None else clock.iso_seconds(verdict.resets_at),
        "drift_alarm_at_utc": None if alarm is None else clock.iso_seconds(alarm),
        "drift": state.drift.message,
    }
