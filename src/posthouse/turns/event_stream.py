"""A turn's events as they come."""

import time
from collections import Counter
from collections.abc import Iterator

from posthouse.contracts.events import CanonicalEvent
from posthouse.turns.state import events_of, open_canonical, read_events
from posthouse.turns.turn import Turn

_LOOK_SECONDS = 0.1


def follow(turn: Turn, seconds: float | None) -> Iterator[CanonicalEvent]:
    """Each event once, soon after it happened, until the turn has ended or *seconds* passed.

    When the bridge was killed, the rest comes when the program has ended.
    """
    given: Counter[bool] = Counter()
    for event in _live(turn, seconds):
        given[_is_stderr(event)] += 1
        yield event
    if turn.state().is_final and not turn.exitcode_path.exists():
        yield from _rest(turn, given)


def _live(turn: Turn, seconds: float | None) -> Iterator[CanonicalEvent]:
    deadline = None if seconds is None else time.monotonic() + seconds
    told = None
    try:
        is_over = False
        while not is_over:
            left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, deadline - time.monotonic())
            is_over = turn.wait(max(0.0, left)).status != "active" or left <= 0
            if told is None and turn.folder.canonical.exists():
                told = open_canonical(turn.folder)
            if told is not None:
                yield from read_events(told)
    finally:
        if told is not None:
            told.close()


def _rest(turn: Turn, given: Counter[bool]) -> Iterator[CanonicalEvent]:
    """What the program said after its bridge was killed. Each of its two streams keeps its order."""
    for event in events_of(turn.folder):
        if given[_is_stderr(event)]:
            given[_is_stderr(event)] -= 1
        else:
            yield event


def _is_stderr(event: CanonicalEvent) -> bool:
    return event.provider_event_type == "stderr"
