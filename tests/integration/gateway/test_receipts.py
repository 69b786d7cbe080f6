"""Receipts of real agents: what they say, how they know it, and what a restart does to them."""

import http.client
import os
import signal
import time
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayUnavailable
from posthouse.gateway_lifecycle import attach
from posthouse.testing.blocking_agent import Gate
from posthouse.testing.waiting import LIMIT_SECONDS

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any
BOTH = pytest.mark.parametrize("headless", [True, False], ids=["headless", "tui"])
HEADLESS = ["accepted", "started", "submitted", "acknowledged", "completed"]
TYPED = ["accepted", "started", "typed", "submitted", "acknowledged", "completed"]


def stages(receipt: dict[str, Any]) -> list[str]:
    return [stage["stage"] for stage in receipt["stages"]]


def sources(receipt: dict[str, Any]) -> dict[str, Any]:
    return {stage["stage"]: stage["evidence"].get("source") for stage in receipt["stages"]}


def kill_gateway(house: House, session: Any) -> None:
    there = attach.live(session)
    assert there is not None
    os.kill(there.pid, signal.SIGKILL)
    house.until(lambda: attach.live(session) is None)


@BOTH
def test_a_prompt_is_followed_to_its_answer(house: House, headless: bool) -> None:
    """Queued or direct, each stage names its evidence, and the end is the agent's own word."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)

    request_id = client.submit_prompt("hello [[say hello there]]")["request_id"]
    receipt = house.receipt(session, request_id)

    assert (receipt["state"], stages(receipt)) == ("completed", HEADLESS if headless else TYPED)
    assert receipt["result"]["answer"] == "hello there"
    known = sources(receipt)
    if headless:
        assert [known[stage] for stage in HEADLESS[2:]] == ["process", "stdout", "turn"]
        assert receipt["result"]["usage"]["output_tokens"] > 0
        assert receipt["result"]["cost_usd"] > 0
    else:
        assert (known["typed"], known["submitted"]) == ("terminal", "screen")
        assert (known["acknowledged"] in ("hook", "transcript"), known["completed"]) == (True, "transcript")
        assert receipt["result"]["usage"] == {"input_tokens": 4, "output_tokens": 2}
        assert receipt["stages"][-1]["evidence"]["offset"] > 0


def test_a_tuis_turn_is_seen_to_its_end_by_the_next_gateway(house: House) -> None:
    """A gateway that dies after the submission loses nothing: the transcript tells the rest."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    gate = Gate(house.folder)
    prompt = f"long {gate.closed} [[say done]]"
    request_id = client.submit_prompt(prompt)["request_id"]
    # A row that its gateway did not live to complete is failed, whatever its agent said.
    house.until(lambda: house.rows(session) == [("submit_prompt", "completed", None)])

    kill_gateway(house, session)
    house.attach(session)
    gate.open()

    receipt = house.receipt(session, request_id)
    assert (receipt["state"], receipt["result"]["answer"]) == ("completed", "done")
    assert house.truth(session).prompts() == [prompt]


def test_a_direct_turn_that_outlived_its_gateway_is_in_its_receipt(house: House) -> None:
    """The next gateway waits for the turn and writes down how it ended."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)
    gate = Gate(house.folder)
    prompt = f"long {gate.closed} [[say done]]"
    client.control_prompt(prompt)
    (open_one,) = client.receipts(kind="control_prompt")["requests"]
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)

    kill_gateway(house, session)
    house.attach(session)
    gate.open()

    house.until(lambda: house.client(session).receipt(open_one["request_id"])["state"] == "completed")
    receipt = house.client(session).receipt(open_one["request_id"])
    assert receipt["result"]["answer"] == "done"
    assert house.truth(session).prompts() == [prompt]


def test_a_wait_ends_with_its_caller(house: House) -> None:
    """A hundred callers who went away leave room for the next."""
    session = house.launch(headless=True)
    house.attach(session)
    there = attach.live(session)
    assert there is not None
    client = house.client(session)
    request_id = client.submit_prompt("long [[wait 600]]")["request_id"]

    for _ in range(2):
        gone = [http.client.HTTPConnection(there.host, there.port) for _ in range(60)]
        for connection in gone:
            connection.request("GET", f"/v1/requests/{request_id}?wait=300")
        for connection in gone:
            connection.close()

    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            receipt = client.receipt(request_id, wait_seconds=0.1)
            break
        except GatewayUnavailable:  # it has not heard yet that they went
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert receipt["state"] == "running"
    client.interrupt()
    assert house.receipt(session, request_id)["state"] == "interrupted"
