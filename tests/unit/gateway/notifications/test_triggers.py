"""Which events somebody is told of."""

import json
from typing import Any

import pytest

from posthouse.contracts.notification_files import Occasion
from posthouse.events.event import Event
from posthouse.gateway.notifications.triggers import occasion_of, sentence


def event(kind: str, **fields: Any) -> Event:
    return Event(number=1, kind=kind, line=json.dumps({"kind": kind, **fields}).encode())


@pytest.mark.parametrize(
    ("given", "occasion"),
    [
        (event("request_stage", stage="completed"), "finished"),
        (event("request_stage", stage="failed"), "failed"),
        (event("request_stage", stage="interrupted"), "failed"),
        (event("request_stage", stage="unknown"), "failed"),
        (event("request_stage", stage="submitted"), None),
        (event("request_stage", stage="cancelled"), None),
        (event("tui_state", state="blocked", previous="active"), "blocked"),
        (event("tui_state", state="blocked", previous="blocked"), None),
        (event("tui_state", state="ready", previous="blocked"), None),
        (event("limited", detail="resets 3pm"), "limited"),
        (event("limit_over"), None),
        (event("completed"), None),
    ],
    ids=lambda value: value.line.decode() if isinstance(value, Event) else str(value),
)
def test_an_occasion_is_the_end_of_a_prompt_or_a_state_that_needs_somebody(
    given: Event, occasion: Occasion | None
) -> None:
    """The rest is for those who watch."""
    assert occasion_of(given) == occasion


def test_a_person_reads_one_sentence() -> None:
    """With what is known of the reason, and without an empty end."""
    assert sentence("blocked", "gpu", {"dialog": "permission"}) == "gpu waits for an answer: permission"
    assert sentence("limited", "gpu", {"detail": ""}) == "gpu has reached a usage limit"
