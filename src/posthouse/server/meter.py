"""Counts what the server's own journal tells, from the moment the server started."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from posthouse.events.event import Event
from posthouse.events.journal import Journal
from posthouse.web.exposition import Family, Histogram, Sample

_BOUNDS = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
#: Turns that run at the same time, with room to spare; the oldest is forgotten.
_MAX_OPEN = 10_000


class Meter:
    """Headless turns that the server owns: how they ended, and how long they took."""

    def __init__(self, journal: Journal, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._ended: Counter[str] = Counter()
        self._begun: OrderedDict[str, float] = OrderedDict()
        self._durations = Histogram(_BOUNDS)
        journal.listen(self._heard)

    def families(self) -> list[Family]:
        return [
            Family(
                name="posthouse_turns_total",
                kind="counter",
                help="Headless turns of this server that ended, by their status.",
                samples=[
                    Sample(value=count, labels={"status": status})
                    for status, count in sorted(self._ended.items())
                ],
            ),
            Family(
                name="posthouse_turn_duration_seconds",
                kind="histogram",
                help="From the start of a headless turn under this server until its end.",
                samples=self._durations.samples(),
            ),
        ]

    def _heard(self, event: Event) -> None:
        if event.kind == "turn_started":
            self._begun[str(event.fields.get("turn_id"))] = self._now()
            if len(self._begun) > _MAX_OPEN:
                self._begun.popitem(last=False)
        elif event.kind == "turn_ended":
            self._ended[str(event.fields.get("status"))] += 1
            if (begun := self._begun.pop(str(event.fields.get("turn_id")), None)) is not None:
                self._durations.observe(self._now() - begun)
