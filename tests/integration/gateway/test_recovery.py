"""A real gateway after something died: the gateway, the agent, its tmux server, or the queue's file."""

import os
import signal
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayUnavailable
from posthouse.contracts import gateway_files as gf
from posthouse.gateway.worker import STOPPED
from posthouse.gateway_lifecycle import attach
from posthouse.queue import DIED_RUNNING, set_aside_at
from posthouse.terminal import session as terminal
from posthouse.testing.blocking_agent import Gate
from posthouse.turns import runner

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any


def kinds(house: House, session: Any) -> list[str]:
    return [event["kind"] for event in house.events(session)]


def test_a_turn_that_outlived_its_gateway_can_be_interrupted(house: House) -> None:
    """The next gateway acts on it at once, records how it ended, and then goes on."""
    session = house.launch(headless=True)
    house.attach(session)
    house.client(session).submit_prompt("long [[wait 600]]")
    house.client(session).submit_prompt("next [[say hello]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    there = attach.live(session)
    assert there is not None
    os.kill(there.pid, signal.SIGKILL)
    house.until(lambda: attach.live(session) is None)

    house.attach(session)
    waiting = house.client(session).status()
    house.client(session).interrupt()
    house.settle(session)

    assert (waiting["active_execution"], waiting["queue_depth"]) == ("running", 1)
    assert house.rows(session) == [
        ("submit_prompt", "failed", f"{DIED_RUNNING}; later its turn was found interrupted"),
        ("submit_prompt", "completed", None),
        ("interrupt", "completed", None),
    ]
    assert "left_turn_ended" in kinds(house, session)


def test_a_turn_that_outlived_a_detach_is_waited_for_and_its_chat_goes_on(house: House) -> None:
    """The conversation of a turn that ended well is the one that the next turn continues."""
    session = house.launch(headless=True)
    house.attach(session)
    gate = Gate(house.folder)
    house.client(session).submit_prompt(f"long {gate.closed}")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    attach.detach(session, house.registry)

    house.attach(session)
    gate.open()
    house.until(lambda: house.client(session).status()["active_execution"] == "idle")
    house.client(session).submit_prompt("next [[say hello]]")
    house.settle(session)

    assert house.rows(session) == [
        ("submit_prompt", "failed", f"{STOPPED}; later its turn was found completed"),
        ("submit_prompt", "completed", None),
    ]
    first, second = (turn.state().session_id for turn in runner.turns_of(session.turns_root))
    assert first == second


def test_an_interrupt_of_a_turn_that_is_just_starting_is_not_lost(house: House) -> None:
    """Between the request and the program's first breath there is no gap to fall into."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)

    client.submit_prompt("long [[wait 600]]")
    house.until(lambda: client.status()["active_execution"] == "running")
    client.interrupt()
    house.settle(session)

    assert [(kind, state) for kind, state, _ in house.rows(session)] == [
        ("submit_prompt", "failed"),
        ("interrupt", "completed"),
    ]


def test_a_broken_queue_does_not_keep_a_gateway_from_starting(house: House) -> None:
    """It is kept beside the new one and said aloud; requests are taken at once."""
    session = house.launch(headless=True)
    path = session.gateway_root / gf.QUEUE
    path.write_bytes(b"this is not a database" * 100)

    house.attach(session)
    house.client(session).submit_prompt("hello [[say hello]]")
    house.settle(session)

    (kept,) = set_aside_at(path)
    assert kept.read_bytes() == b"this is not a database" * 100
    assert kinds(house, session) == ["queue_set_aside", "accepted", "completed"]
    assert "was set aside" in (session.gateway_root / gf.LOG).read_text()


def test_a_headless_program_killed_in_its_turn_fails_that_request_alone(house: House) -> None:
    """The one behind it is carried out."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 600]]")
    client.submit_prompt("next [[say hello]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    turn = runner.active(session.turns_root)
    assert turn is not None

    turn.kill()
    house.settle(session)

    assert [(kind, state) for kind, state, _ in house.rows(session)] == [
        ("submit_prompt", "failed"),
        ("submit_prompt", "completed"),
    ]


def test_a_tui_killed_in_its_turn_leaves_the_rest_waiting(house: House) -> None:
    """Nothing is typed into the void; what waits is kept for a decision."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    house.until(lambda: client.status()["queue_depth"] == 0)
    client.submit_prompt("next [[say hello]]")

    os.kill(terminal.agent_pane(session.tmux, session.tmux_session_name).pid, signal.SIGKILL)
    house.until(lambda: client.status()["managed_agent_connectivity"] == "unavailable")

    with pytest.raises(GatewayUnavailable):
        client.submit_prompt("refused")
    assert [(kind, state) for kind, state, _ in house.rows(session)] == [
        ("submit_prompt", "completed"),
        ("submit_prompt", "accepted"),
    ]


@pytest.mark.parametrize("headless", [True, False], ids=["headless", "tui"])
def test_a_killed_tmux_server_takes_the_agent_and_nothing_else(house: House, headless: bool) -> None:
    """What waits is kept; after a relaunch somebody decides, and it is carried out once."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    client.submit_prompt("next [[say hello]]")

    session.tmux.run("kill-server")
    house.until(lambda: client.status()["managed_agent_connectivity"] == "unavailable")
    if turn := runner.active(session.turns_root):
        turn.kill()  # a bridge outlives its terminal
    house.agents.relaunch(house.agents.find(name="gpu"))
    house.until(lambda: client.status()["request_admission"] == "blocked_reconciliation")
    client.reconcile("replay")
    house.settle(session)

    assert house.truth(session).wait(lambda log: len(log.prompts()) == 2).prompts() == [
        "long [[wait 600]]",
        "next [[say hello]]",
    ]
    assert house.rows(session)[1] == ("submit_prompt", "completed", None)
    # The place that is kept for a program is no agent.
    assert client.status()["managed_agent_instance_epoch"] == 2
