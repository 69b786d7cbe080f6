"""The opt-in diagnostic log: structured lines for a post-mortem, bounded in size, without prompts or bodies.

Callers pass only safe fields. Fields named like a secret, a prompt or a body are dropped in any case.
Repeated warnings are written once and counted.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from posthouse.contracts import gateway_files as gf
from posthouse.support import clock, files
from posthouse.support.rotation import RotatingFile

Level = Literal["info", "warning", "error"]
#: A field is dropped when its name is one of these or ends with one.
_REDACTED_FIELDS = (
    "authorization",
    "body",
    "cookie",
    "credential",
    "credentials",
    "env",
    "password",
    "prompt",
    "secret",
    "token",
)
_MAX_TEXT = 500
_MAX_ITEMS = 50
_MAX_DEPTH = 4
#: Interval at which the count of a repeated warning is written.
_SUMMARY_SECONDS = 60.0


class Diagnostics(Protocol):
    """The diagnostic log of one gateway. Its methods never fail."""

    def note(self, level: Level, event: str, *, key: str | None = None, **fields: object) -> None:
        """Write one entry. Consecutive warnings or errors of one *key* become one entry and a count."""

    def close(self) -> None:
        """Write the pending count and close the file."""


class NoDiagnostics:
    """Used when the diagnostic log is off."""

    def note(self, level: Level, event: str, *, key: str | None = None, **fields: object) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@dataclass(slots=True, kw_only=True)
class _Streak:
    """One warning that repeats."""

    key: str
    event: str
    first_at: str
    last_at: str
    suppressed: int = 0


class DiagnosticLog:
    """`gateway-diagnostic.log` of one gateway."""

    def __init__(self, path: Path, *, max_bytes: int, backups: int) -> None:
        files.private_folder(path.parent)
        self._file = RotatingFile(path, max_bytes=max_bytes, backups=backups)
        self._streak: _Streak | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._lost = 0

    def note(self, level: Level, event: str, *, key: str | None = None, **fields: object) -> None:
        now = clock.iso_seconds(clock.now())
        if level != "info" and self._is_repetition(key or event, now):
            return
        if level != "info":
            self._summarise()
            self._streak = _Streak(key=key or event, event=event, first_at=now, last_at=now)
        self._write(level, event, now, redacted(fields))

    def close(self) -> None:
        self._summarise()
        self._file.close()

    def _is_repetition(self, key: str, now: str) -> bool:
        if self._streak is None or self._streak.key != key:
            return False
        self._streak.last_at = now
        self._streak.suppressed += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SUMMARY_SECONDS, self._summarise)
        return True

    def _summarise(self) -> None:
        """End the streak; write its count if there was a repetition."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        streak, self._streak = self._streak, None
        if streak is not None and streak.suppressed:
            fields = {
                "dedup_key": streak.key,
                "first_event": streak.event,
                "first_timestamp_utc": streak.first_at,
                "last_timestamp_utc": streak.last_at,
                "suppressed_count": streak.suppressed,
            }
            self._write("warning", "diagnostic.dedup_summary", clock.iso_seconds(clock.now()), fields)

    def _write(self, level: Level, event: str, now: str, fields: Mapping[str, Any]) -> None:
        entry = {**fields, "schema_version": 1, "timestamp_utc": now, "level": level, "event": event}
        if self._lost:
            entry["lost_entries"] = self._lost
        try:
            self._file.write((json.dumps(entry, sort_keys=True, ensure_ascii=False) + "\n").encode())
            self._lost = 0
        except OSError:
            self._lost += 1  # reported by the next entry that can be written


def open_diagnostics(gateway_root: Path, settings: gf.DiagnosticLogging | None) -> Diagnostics:
    """The diagnostic log if *settings* enable it, else `NoDiagnostics`."""
    if settings is None or not settings.enabled:
        return NoDiagnostics()
    return DiagnosticLog(
        gateway_root / gf.DIAGNOSTIC_LOG, max_bytes=settings.max_bytes, backups=settings.backup_count
    )


def redacted(value: Mapping[str, object], *, depth: int = 0) -> dict[str, Any]:
    """*value* without sensitive fields, and bounded in size."""
    return {
        name: _safe_value(one, depth)
        for name, one in list(value.items())[:_MAX_ITEMS]
        if not name.lower().endswith(_REDACTED_FIELDS)
    }


def _safe_value(value: object, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return redacted({str(name): one for name, one in value.items()}, depth=depth + 1)
    if isinstance(value, list | tuple | set | frozenset):
        return [_safe_value(one, depth + 1) for one in list(value)[:_MAX_ITEMS]]
    text = str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
