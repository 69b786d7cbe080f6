"""A span for every headless turn, from what the journal tells."""

from collections import OrderedDict

from posthouse.events.event import Event
from posthouse.events.journal import Journal
from posthouse.support.tracing import Span, Tracing

#: Turns that run at the same time, with room to spare; the oldest is ended.
_MAX_OPEN = 10_000


class TurnSpans:
    """The turns that began under this server. One begins in the trace of the request that asked for it."""

    def __init__(self, journal: Journal, tracing: Tracing) -> None:
        self._tracing = tracing
        self._open: OrderedDict[str, Span] = OrderedDict()
        if tracing.is_on:
            journal.listen(self._heard)

    def close(self) -> None:
        """End what still runs: it goes on without us."""
        for span in self._open.values():
            span.note("posthouse.turn.status", "left running")
            span.end()
        self._open.clear()

    def _heard(self, event: Event) -> None:
        # Listeners are called where the event is told, so the span's parent is whatever runs there.
        if event.kind == "turn_started":
            self._begin(str(event.fields.get("agent_id")), str(event.fields.get("turn_id")))
        elif event.kind == "turn_ended":
            self._end(str(event.fields.get("turn_id")), str(event.fields.get("status")))

    def _begin(self, agent_id: str, turn_id: str) -> None:
        span = self._tracing.begin("headless turn")
        span.note("posthouse.agent.id", agent_id)
        span.note("posthouse.turn.id", turn_id)
        self._open[turn_id] = span
        if len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)[1].end()

    def _end(self, turn_id: str, status: str) -> None:
        span = self._open.pop(turn_id, None)
        if span is None:
            return
        span.note("posthouse.turn.status", status)
        if status != "completed":
            span.fail(status)
        span.end()
