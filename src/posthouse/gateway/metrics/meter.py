"""Counts the journal events of one gateway since its start."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from posthouse.events.event import Event
from posthouse.events.journal import Journal
from posthouse.web.exposition import Family, Histogram, Sample

_ENDS = frozenset(("completed", "failed", "interrupted", "unknown"))
_BOUNDS = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
#: More than the prompts that run at the same time; the oldest is dropped.
_MAX_OPEN = 1000


class EventMeter:
    """Counters over events. Costs one dictionary update per event."""

    def __init__(self, journal: Journal, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kinds: Counter[str] = Counter()
        self._stages: Counter[str] = Counter()
        self._started_at: OrderedDict[str, float] = OrderedDict()
        self._durations = Histogram(_BOUNDS)
        journal.listen(self._on_event)

    def families(self) -> list[Family]:
        return [
            Family(
                name="posthouse_events_total",
                kind="counter",
                help="Events by kind.",
                samples=[_labelled("kind", *item) for item in sorted(self._kinds.items())],
            ),
            Family(
                name="posthouse_request_stages_total",
                kind="counter",
                help="Prompts that passed a stage, such as accepted, submitted, completed or failed.",
                samples=[_labelled("stage", *item) for item in sorted(self._stages.items())],
            ),
            Family(
                name="posthouse_turn_duration_seconds",
                kind="histogram",
                help="From the start of the delivery of a prompt until its end.",
                samples=self._durations.samples(),
            ),
        ]

    def _on_event(self, event: Event) -> None:
        self._kinds[event.kind] += 1
        if event.kind == "request_stage":
            fields = event.fields
            self._count_stage(str(fields.get("request_id")), str(fields.get("stage")))

    def _count_stage(self, request_id: str, stage: str) -> None:
        self._stages[stage] += 1
        if stage == "started":
            self._started_at[request_id] = self._now()
            if len(self._started_at) > _MAX_OPEN:
                self._started_at.popitem(last=False)
        elif stage in _ENDS and (started_at := self._started_at.pop(request_id, None)) is not None:
            self._durations.observe(self._now() - started_at)


def _labelled(label: str, value: str, count: int) -> Sample:
    return Sample(value=count, labels={label: value})
