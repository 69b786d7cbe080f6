"""Where everything that happens in a process is told: written to `events.jsonl`, and heard by who listens."""

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
from posthouse.support.rotation import Keep, RotatingFile

#: About 80,000 events a file: what happened to every request that a queue still remembers, and more.
KEEP = Keep(max_bytes=16 << 20, backups=4)
#: The newest events are kept in memory for those who read along.
_RECENT_EVENTS = 1000
_RECENT_BYTES = 256 << 10
#: A longer line tells nothing that its beginning does not.
_MAX_LINE_BYTES = 32 << 10
_MAX_TEXT = 500
#: A twentieth of what `json` takes, and every accepted request tells two events.
_encode = msgspec.json.Encoder(order="sorted").encode


class Journal:
    """The events of one gateway or server. No line holds a prompt. For one loop: it locks nothing."""

    def __init__(self, path: Path, keep: Keep = KEEP) -> None:
        self.path = path
        self._before = history.line_count(path)
        self._file = RotatingFile(
            path, max_bytes=keep.max_bytes, backups=keep.backups, first_line=self._part_begun
        )
        self._lost = 0
        self._recent: deque[Event] = deque()
        self._recent_bytes = 0
        #: Everything after this number is in memory.
        self.remembered_after = self._before
        self._listeners: set[Callable[[Event], None]] = set()

    @property
    def last_number(self) -> int:
        """The number of the newest line."""
        return self._before + self._file.lines_begun

    def add(self, kind: str, /, **fields: object) -> None:
        """Tell one event. Never fails: what the disk refuses is counted, and told by the next event.

        Kinds of our own get the time as `at_utc`; those of the contract have their exact fields.
        """
        crashpoints.reach(f"event {kind}")
        try:
            if self._lost:
                lost, self._lost = self._lost, 0
                self._told("events_lost", {"count": lost}, in_vain=lost)
            self._told(kind, fields)
        except OSError:
            self._lost += 1

    def recent(self, *, after: int) -> list[Event]:
        """The events behind number *after*, which must not be below `remembered_after`."""
        newer: list[Event] = []
        for event in reversed(self._recent):
            if event.number <= after:
                break
            newer.append(event)
        newer.reverse()
        return newer

    def listen(self, hear: Callable[[Event], None]) -> Callable[[], None]:
        """Call *hear* with every event from now on, at once; it must be quick and never fail.

        The answer is what ends it.
        """
        self._listeners.add(hear)
        return lambda: self._listeners.discard(hear)

    def close(self) -> None:
        self._file.close()

    def _told(self, kind: str, fields: Mapping[str, object], *, in_vain: int = 0) -> None:
        if kind not in CONTRACT_KINDS:
            fields = {"at_utc": clock.iso_micros(clock.now()), **fields}
        line = _encoded(kind, fields)
        try:
            self._file.write(line + b"\n")
        except OSError:
            self._lost += in_vain
            raise
        event = Event(number=self.last_number, kind=kind, line=line)
        self._remember(event)
        for hear in list(self._listeners):
            hear(event)

    def _remember(self, event: Event) -> None:
        self._recent.append(event)
        self._recent_bytes += len(event.line)
        while len(self._recent) > _RECENT_EVENTS or self._recent_bytes > _RECENT_BYTES:
            forgotten = self._recent.popleft()
            self._recent_bytes -= len(forgotten.line)
            self.remembered_after = forgotten.number

    def _part_begun(self) -> bytes:
        number = self.last_number + 1
        return _encoded(PART_BEGUN, {"event_number": number, "at_utc": clock.iso_micros(clock.now())}) + b"\n"


def _encoded(kind: str, fields: Mapping[str, object]) -> bytes:
    line = _encode({"kind": kind, **fields})
    if len(line) <= _MAX_LINE_BYTES:
        return line
    cut = {name: _cut(value) for name, value in fields.items()}
    return _encode({"kind": kind, **cut})


def _cut(value: object) -> object:
    """*value* at a size that a line can hold."""
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}…"
    if value is None or isinstance(value, bool | int | float):
        return value
    told = json.dumps(value, ensure_ascii=False)
    return value if len(told) <= _MAX_TEXT else f"{told[:_MAX_TEXT]}…"


def read_events(path: Path, *, mentioning: str = "") -> Iterator[dict[str, Any]]:
    """Every event that is kept, oldest first, from all parts of the file. Broken-off lines are left out.

    *mentioning* leaves out lines without that text before they are decoded: most of a long history.
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
