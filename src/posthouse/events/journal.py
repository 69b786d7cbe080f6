"""The event log of a process: appended to `events.jsonl` and published to listeners."""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from posthouse.contracts.gateway_events import CONTRACT_KINDS, PART_BEGUN
from posthouse.events import history
from posthouse.events.event import Event
from posthouse.support import clock, crashpoints, rotation, untrusted_files
from posthouse.support.rotation import Retention, RotatingFile

#: About 80,000 events a file: covers every request that a queue still keeps, and more.
EVENT_RETENTION = Retention(max_bytes=16 << 20, backups=4)
#: The newest events are kept in memory for live readers.
_RECENT_EVENTS = 1000
_RECENT_BYTES = 256 << 10
#: Fields of a longer line are truncated.
_MAX_LINE_BYTES = 32 << 10
_MAX_TEXT = 500
#: Twenty times as fast as `json`; every accepted request emits two events.
_encode = msgspec.json.Encoder(order="sorted").encode


class Journal:
    """The events of one gateway or server. No line holds a prompt. Not thread-safe: for one event loop."""

    def __init__(self, path: Path, retention: Retention = EVENT_RETENTION) -> None:
        self.path = path
        self._before = history.line_count(path)
        self._file = RotatingFile(
            path, max_bytes=retention.max_bytes, backups=retention.backups, first_line=self._part_header
        )
        self._lost = 0
        self._recent: deque[Event] = deque()
        self._recent_bytes = 0
        #: Everything after this number is in memory.
        self.in_memory_after = self._before
        self._listeners: set[Callable[[Event], None]] = set()

    @property
    def last_number(self) -> int:
        """The number of the newest line."""
        return self._before + self._file.lines_begun

    def add(self, kind: str, /, **fields: object) -> None:
        """Emit one event. Never fails: events that can't be written are counted; the next event reports them.

        Kinds outside the contract get the time as `at_utc`; those of the contract have their exact fields.
        """
        crashpoints.reach(f"event {kind}")
        try:
            if self._lost:
                lost, self._lost = self._lost, 0
                self._write("events_lost", {"count": lost}, lost_count=lost)
            self._write(kind, fields)
        except OSError:
            self._lost += 1

    def recent(self, *, after: int) -> list[Event]:
        """The events after number *after*, which must not be below `in_memory_after`."""
        newer: list[Event] = []
        for event in reversed(self._recent):
            if event.number <= after:
                break
            newer.append(event)
        newer.reverse()
        return newer

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call *listener* synchronously with every event from now on; it must be quick and never fail.

        Call the returned function to unsubscribe.
        """
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def close(self) -> None:
        self._file.close()

    def _write(self, kind: str, fields: Mapping[str, object], *, lost_count: int = 0) -> None:
        if kind not in CONTRACT_KINDS:
            fields = {"at_utc": clock.iso_micros(clock.now()), **fields}
        line = _encoded(kind, fields)
        try:
            self._file.write(line + b"\n")
        except OSError:
            self._lost += lost_count
            raise
        event = Event(number=self.last_number, kind=kind, line=line)
        self._keep_in_memory(event)
        for listener in list(self._listeners):
            listener(event)

    def _keep_in_memory(self, event: Event) -> None:
        self._recent.append(event)
        self._recent_bytes += len(event.line)
        while len(self._recent) > _RECENT_EVENTS or self._recent_bytes > _RECENT_BYTES:
            forgotten = self._recent.popleft()
            self._recent_bytes -= len(forgotten.line)
            self.in_memory_after = forgotten.number

    def _part_header(self) -> bytes:
        number = self.last_number + 1
        return _encoded(PART_BEGUN, {"event_number": number, "at_utc": clock.iso_micros(clock.now())}) + b"\n"


def _encoded(kind: str, fields: Mapping[str, object]) -> bytes:
    line = _encode({"kind": kind, **fields})
    if len(line) <= _MAX_LINE_BYTES:
        return line
    truncated = {name: _truncated(value) for name, value in fields.items()}
    return _encode({"kind": kind, **truncated})


def _truncated(value: object) -> object:
    """*value*, cut to a size that a line can hold."""
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}…"
    if value is None or isinstance(value, bool | int | float):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def read_events(path: Path, *, mentioning: str = "") -> Iterator[dict[str, Any]]:
    """Every retained event, oldest first, from all parts of the file. Incomplete lines are left out.

    *mentioning* skips lines without that text before they are decoded: most of a long log.
    """
    for part in rotation.parts(path):
        with untrusted_files.open_file(part) as lines:
            for content in lines:
                line = content.decode(errors="replace")
                if mentioning in line and (event := _decoded(line)) is not None:
                    yield event


def _decoded(line: str) -> dict[str, Any] | None:
    try:
        event = untrusted_files.decode_json(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and event.get("kind") != PART_BEGUN else None
