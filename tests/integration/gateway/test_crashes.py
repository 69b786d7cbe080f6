"""What a killed gateway leaves: its turn, its files, its reasons. The crash matrix kills it at every step."""

import os
import signal
from typing import Any

import pytest

from posthouse.errors import Unavailable
from posthouse.gateway_lifecycle import attach
from posthouse.queue import DIED_RUNNING
from posthouse.support import processes
from posthouse.testing.blocking_agent import Gate
from posthouse.testing.waiting import LIMIT_SECONDS

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any


def test_a_killed_gateway_leaves_its_turn_running_and_the_next_one_waits_for_it(house: House) -> None:
    """The turn ends by itself, its request is failed and not repeated, and nothing starts meanwhile."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)
    gate = Gate(house.folder)
    client.submit_prompt(f"long {gate.closed}")
    client.submit_prompt("next [[say hello]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    there = attach.live(session)
    assert there is not None

    os.kill(there.pid, signal.SIGKILL)
    house.until(lambda: attach.live(session) is None)
    house.attach(session)
    gate.open()
    house.settle(session)

    assert house.rows(session) == [
        ("submit_prompt", "failed", f"{DIED_RUNNING}; later its turn was found completed"),
        ("submit_prompt", "completed", None),
    ]
    log = house.truth(session).events("prompt", "answer")
    assert [event["event"] for event in log] == ["prompt", "answer", "prompt", "answer"]


def test_a_killed_gateway_is_not_taken_for_a_live_one(house: House) -> None:
    """Its files are still there; detach cleans up after it, and attach starts anew."""
    session = house.launch(headless=True)
    house.attach(session)
    there = attach.live(session)
    assert there is not None

    os.kill(there.pid, signal.SIGKILL)
    # It holds its lock until it has ended, a moment after its port is closed.
    assert processes.wait_exit(there.pid, seconds=LIMIT_SECONDS)

    assert attach.live(session) is None
    assert (session.gateway_root / "run/current-instance.json").exists()
    assert attach.detach(session, house.registry).detail == "no gateway was attached"
    assert not (session.gateway_root / "run/current-instance.json").exists()
    assert house.attach(session).gateway_port == there.port


@pytest.mark.parametrize("has_output", [False, True], ids=["quiet", "while output flows"])
def test_a_killed_gateway_leaves_no_tmux_client(house: House, has_output: bool) -> None:
    """The clients that it had attached go with it, from the tmux server and as processes."""
    session = house.launch(headless=False)
    if has_output:
        session.tmux.run("new-window", "-d", "-t", f"={session.tmux_session_name}:", "exec yes")
    house.attach(session)
    there = attach.live(session)
    assert there is not None
    house.until(lambda: house.tmux_clients(session) != [])
    attached = house.tmux_clients(session)

    os.kill(there.pid, signal.SIGKILL)

    house.until(lambda: house.tmux_clients(session) == [])
    assert [processes.wait_exit(pid, seconds=LIMIT_SECONDS) for pid in attached] == [True] * len(attached)


def test_a_gateway_that_can_not_start_says_why(house: House) -> None:
    """The caller gets the gateway's own words, and nothing runs or is published."""
    session = house.launch(headless=True)
    (session.gateway_root / "queue.sqlite").mkdir()

    with pytest.raises(Unavailable, match=r"queue.sqlite can't be used: unable to open database file"):
        house.attach(session)

    assert attach.live(session) is None
    assert house.read(session, "state.json")["gateway_health"] == "not_attached"
