"""Reminders reach real agents, and end with their gateway."""

import json
import os
import signal
from typing import Any

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.gateway_lifecycle import attach, gateway_lock

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any

BOTH = pytest.mark.parametrize("headless", [True, False], ids=["headless", "tui"])
SOON: dict[str, Any] = {
    "mode": "one_off",
    "title": "Soon",
    "prompt": "remind me [[say reminded]]",
    "ranking": 0,
    "start_after_seconds": 0.1,
}


def events(session: Any, kind: str) -> list[dict[str, Any]]:
    lines = (session.gateway_root / gf.EVENTS).read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


@BOTH
def test_a_due_prompt_reaches_the_agent_once(house: House, headless: bool) -> None:
    """No row in the queue, one prompt in the agent."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)

    client.create_reminders(SOON)
    house.until(lambda: client.reminders()["reminders"] == [])
    house.until(lambda: len(events(session, "reminder_completed")) == 1)

    assert house.truth(session).prompts() == ["remind me [[say reminded]]"]
    assert house.rows(session) == []


def test_a_prompt_waits_for_a_tui_at_work_and_keys_do_not(house: House) -> None:
    """Escape ends the turn, and then the agent is ready for the prompt."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    house.settle(session)

    client.create_reminders(SOON)
    house.until(lambda: len(events(session, "reminder_deferred")) == 1)
    keys = {"sequence": "<[Escape]>", "ensure_enter": False}
    client.create_reminders({**SOON, "prompt": None, "send_keys": keys, "ranking": -1})
    house.until(lambda: client.reminders()["reminders"] == [])

    truth = house.truth(session)
    assert (truth.interrupts(), truth.prompts()) == (1, ["long [[wait 600]]", "remind me [[say reminded]]"])


def test_what_a_killed_gateway_had_is_told_by_the_next(house: House) -> None:
    """Each lost reminder once, and none is delivered."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)
    later = {**SOON, "start_after_seconds": 3600}
    made = client.create_reminders(later, {**later, "ranking": 5})["reminders"]
    there = attach.live(session)
    assert there is not None

    os.kill(there.pid, signal.SIGKILL)
    house.until(lambda: gateway_lock.holder_of(session.gateway_root) is None)
    house.attach(session)
    attach.detach(session, house.registry)
    house.attach(session)

    lost = events(session, "reminder_lost_on_restart")
    assert [(event["reminder_id"], event["selection_state"]) for event in lost] == [
        (made[0]["reminder_id"], "effective"),
        (made[1]["reminder_id"], "blocked"),
    ]
    assert house.client(session).reminders()["reminders"] == []
    assert house.truth(session).prompts() == []
