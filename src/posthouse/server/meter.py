"""Metrics of headless turns, counted from journal events since the server started."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from posthouse.events.event import Event
from posthouse.events.journal import Journal
from posthouse.web.exposition import Family, Histogram, Sample

_BOUNDS = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
#: Limit of concurrent turns; the oldest is evicted.
_MAX_OPEN = 10_000


class TurnMetrics:
    """Outcomes and durations of headless turns that the server owns."""

    def __init__(self, journal: Journal, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._ended: Counter[str] = Counter()
        self._started: OrderedDict[str, float] = OrderedDict()
        self._durations = Histogram(_BOUNDS)
        journal.listen(self._on_event)

    def families(self) -> list[Family]:
        return [
            Family(
                name="posthouse_turns_total",
                kind="counter",
                help="Completed headless turns of this server, by status.",
                samples=[
                    Sample(value=count, labels={"status": status})
                    for status, count in sorted(self._ended.items())
                ],
            ),
            Family(
                name="posthouse_turn_duration_seconds",
                kind="histogram",
                help="Duration of headless turns of this server.",
                samples=self._durations.samples(),
            ),
        ]

    def _on_event(self, event: Event) -> None:
        if event.kind == "turn_started":
            self._started[str(event.fields.get("turn_id"))] = self._now()
            if len(self._started) > _MAX_OPEN:
                self._started.popitem(last=False)
        elif event.kind == "turn_ended":
            self._ended[str(event.fields.get("status"))] += 1
            if (started := self._started.pop(str(event.fields.get("turn_id")), None)) is not None:
                self._durations.observe(self._now() - started)
