"""Follows a turn's events live."""

import time
from collections import Counter
from collections.abc import Iterator

from posthouse.contracts.events import CanonicalEvent
from posthouse.turns.state import events_of, open_canonical, read_events
from posthouse.turns.turn import Turn

_POLL_SECONDS = 0.1


def follow(turn: Turn, seconds: float | None) -> Iterator[CanonicalEvent]:
    """Yield each event once, soon after it happened, until the turn has ended or *seconds* passed.

    If the bridge was killed, the remaining events follow when the program has ended.
    """
    yielded: Counter[bool] = Counter()
    for event in _live(turn, seconds):
        yielded[_is_stderr(event)] += 1
        yield event
    if turn.state().is_final and not turn.exitcode_path.exists():
        yield from _remaining(turn, yielded)


def _live(turn: Turn, seconds: float | None) -> Iterator[CanonicalEvent]:
    deadline = None if seconds is None else time.monotonic() + seconds
    events_file = None
    try:
        is_over = False
        while not is_over:
            left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
            is_over = turn.wait(max(0.0, left)).status != "active" or left <= 0
            if events_file is None and turn.folder.canonical.exists():
                events_file = open_canonical(turn.folder)
            if events_file is not None:
                yield from read_events(events_file)
    finally:
        if events_file is not None:
            events_file.close()


def _remaining(turn: Turn, yielded: Counter[bool]) -> Iterator[CanonicalEvent]:
    """The program's events after its bridge was killed. Each of its two streams keeps its order."""
    for event in events_of(turn.folder):
        if yielded[_is_stderr(event)]:
            yielded[_is_stderr(event)] -= 1
        else:
            yield event


def _is_stderr(event: CanonicalEvent) -> bool:
    return event.provider_event_type == "stderr"
