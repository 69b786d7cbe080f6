"""What is believed of a TUI, left on disk for whoever lists agents: derived, and gone with its gateway."""

import logging
from pathlib import Path
from typing import Any

from posthouse.contracts import gateway_files as gf
from posthouse.support import clock, files
from posthouse.tracking.tracker import Belief


class BeliefFile:
    """Keeps the file equal to the belief; written only when it says something else."""

    def __init__(self, folder: Path | None, log: logging.Logger) -> None:
        self._path = None if folder is None else folder / gf.TUI
        self._log = log
        self._written: dict[str, Any] | None = None

    def believe(self, belief: Belief) -> None:
        """Write what is believed now. Never fails: readers do without it."""
        content = _content(belief)
        if self._path is None or content == self._written:
            return
        self._written = content
        try:
            files.write_json(self._path, content, durable=False)
        except OSError as error:
            self._log.warning("the belief could not be written", extra={"error": str(error)})

    def remove(self) -> None:
        """Say nothing any more. Never fails."""
        if self._path is None:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            self._log.warning("the belief could not be removed", extra={"error": str(error)})


def _content(belief: Belief) -> dict[str, Any]:
    verdict, alarm = belief.verdict, belief.drift.alarmed_at
    return {
        "schema_version": 1,
        "state": verdict.state,
        "since_utc": clock.iso_seconds(belief.state_since),
        "outcome": belief.outcome,
        "error_kind": belief.error_kind,
        "dialog": verdict.dialog,
        "resets_at_utc": None if verdict.resets_at is None else clock.iso_seconds(verdict.resets_at),
        "drift_alarm_at_utc": None if alarm is None else clock.iso_seconds(alarm),
        "drift": belief.drift.words,
    }
