"""Tracing spans of headless turns, from journal events."""

from collections import OrderedDict

from posthouse.events.event import Event
from posthouse.events.journal import Journal
from posthouse.support.tracing import Span, Tracing

#: Limit of concurrent spans; the oldest is ended.
_MAX_OPEN = 10_000


class TurnSpans:
    """One span per turn that this server starts, in the trace of the request that submitted it."""

    def __init__(self, journal: Journal, tracing: Tracing) -> None:
        self._tracing = tracing
        self._open: OrderedDict[str, Span] = OrderedDict()
        if tracing.is_enabled:
            journal.listen(self._on_event)

    def close(self) -> None:
        """End the open spans; the turns continue."""
        for span in self._open.values():
            span.set_attribute("posthouse.turn.status", "left running")
            span.end()
        self._open.clear()

    def _on_event(self, event: Event) -> None:
        # Listeners run in the context of the emitter, so the span's parent is the emitter's span.
        if event.kind == "turn_started":
            self._begin(str(event.fields.get("agent_id")), str(event.fields.get("turn_id")))
        elif event.kind == "turn_ended":
            self._end(str(event.fields.get("turn_id")), str(event.fields.get("status")))

    def _begin(self, agent_id: str, turn_id: str) -> None:
        span = self._tracing.start_span("headless turn")
        span.set_attribute("posthouse.agent.id", agent_id)
        span.set_attribute("posthouse.turn.id", turn_id)
        self._open[turn_id] = span
        if len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)[1].end()

    def _end(self, turn_id: str, status: str) -> None:
        span = self._open.pop(turn_id, None)
        if span is None:
            return
        span.set_attribute("posthouse.turn.status", status)
        if status != "completed":
            span.fail(status)
        span.end()
