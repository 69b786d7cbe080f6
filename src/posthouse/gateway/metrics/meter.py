"""Counts what the journal of one gateway tells, from the moment the gateway started."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from posthouse.events.event import Event
from posthouse.events.journal import Journal
from posthouse.web.exposition import Family, Histogram, Sample

_ENDS = frozenset(("completed", "failed", "interrupted", "unknown"))
_BOUNDS = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
#: Prompts that run at the same time, with room to spare; the oldest is forgotten.
_MAX_OPEN = 1000


class Meter:
    """Counters over events. Costs a dictionary entry per event and nothing while nothing happens."""

    def __init__(self, journal: Journal, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kinds: Counter[str] = Counter()
        self._stages: Counter[str] = Counter()
        self._begun: OrderedDict[str, float] = OrderedDict()
        self._durations = Histogram(_BOUNDS)
        journal.listen(self._heard)

    def families(self) -> list[Family]:
        return [
            Family(
                name="posthouse_events_total",
                kind="counter",
                help="Events that were told, by kind.",
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
                help="From the start of giving a prompt to the agent until its end.",
                samples=self._durations.samples(),
            ),
        ]

    def _heard(self, event: Event) -> None:
        self._kinds[event.kind] += 1
        if event.kind == "request_stage":
            fields = event.fields
            self._passed(str(fields.get("request_id")), str(fields.get("stage")))

    def _passed(self, request_id: str, stage: str) -> None:
        self._stages[stage] += 1
        if stage == "started":
            self._begun[request_id] = self._now()
            if len(self._begun) > _MAX_OPEN:
                self._begun.popitem(last=False)
        elif stage in _ENDS and (begun := self._begun.pop(request_id, None)) is not None:
            self._durations.observe(self._now() - begun)


def _labelled(label: str, value: str, count: int) -> Sample:
    return Sample(value=count, labels={label: value})
