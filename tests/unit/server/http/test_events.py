"""Which events of all agents one reader is told."""

import json

import pytest

from posthouse.events.event import Event
from posthouse.server.http.events import EventFilter


def event(kind: str, **fields: object) -> Event:
    return Event(number=1, kind=kind, line=json.dumps({"kind": kind, **fields}).encode())


STARTED = event("server_started")
GPU, CPU = event("completed", agent_id="gpu"), event("failed", agent_id="cpu")
LATE = event("completed", agent_id="gpu", late=True)
GAP, GPU_GAP = event("gap"), event("gap", agent_id="gpu")
ALL = (STARTED, GPU, CPU, LATE, GAP, GPU_GAP)

WISHES = {
    "somebody who came back": (EventFilter(agents=None, kinds=None, late=True), ALL),
    "somebody who comes now": (
        EventFilter(agents=None, kinds=None, late=False),
        (STARTED, GPU, CPU, GAP, GPU_GAP),
    ),
    "of one agent": (
        EventFilter(agents=frozenset({"gpu"}), kinds=None, late=True),
        (GPU, LATE, GAP, GPU_GAP),
    ),
    "of one kind": (
        EventFilter(agents=None, kinds=frozenset({"failed"}), late=True),
        (CPU, GAP, GPU_GAP),
    ),
    "of one kind and agent": (
        EventFilter(agents=frozenset({"cpu"}), kinds=frozenset({"failed"}), late=False),
        (CPU, GAP),
    ),
}


@pytest.mark.parametrize(("wanted", "expected"), WISHES.values(), ids=WISHES.keys())
def test_a_reader_is_told_what_was_asked_for_and_every_gap_in_it(
    wanted: EventFilter, expected: tuple[Event, ...]
) -> None:
    """What happened before anybody listened is news only to those who come back."""
    assert tuple(one for one in ALL if wanted(one)) == expected
