"""A gateway killed at any moment: nothing accepted is lost, nothing is carried out twice."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import names
from posthouse.gateway import attach
from posthouse.gateway.process import AttachFailed
from posthouse.queue import DIED_RUNNING, Filter, open_queue

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any

#: A gateway around an agent that writes down what it receives. It carries on what its predecessor left, then
#: it is armed, is given one prompt, and says when that is accepted.
LIFE = """
import asyncio, logging, sys
from pathlib import Path

from posthouse.contracts.gateway_http import SubmitPromptPayload, SubmitPromptRequest
from posthouse.gateway.adapter import Ending, Prompt, Tell, unheard
from posthouse.gateway.files import Publisher, live_attach
from posthouse.support.running_log import open_log
from posthouse.gateway.journal import Journal
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.queue import open_queue
from posthouse.sessions import session as sessions
from posthouse.support import crashpoints
from posthouse.testing.gateway import FakeAgent

class Writing(FakeAgent):
    async def carry_out(self, prompt: Prompt, *, while_busy: bool = False, tell: Tell = unheard) -> None:
        with open(truth + ".turns", "a") as turns:
            turns.write(prompt.turn_id + "\\n")
        with open(truth, "a") as log:
            log.write(prompt.text + "\\n")
        crashpoints.reach("agent has it")
        await super().carry_out(prompt, while_busy=while_busy, tell=tell)

    async def end_of(self, turn_id: str) -> Ending | None:
        turns = Path(truth + ".turns")
        is_known = turns.exists() and turn_id in turns.read_text()
        return Ending(outcome="interrupted") if is_known else None

async def life() -> None:
    session = sessions.read(Path(manifest))
    root, binding = session.gateway_root, Binding(host="127.0.0.1", port=1)
    log, attach = open_log(root / "logs/gateway.log"), live_attach(session, binding)
    agent = Writing()
    agent.appear()
    gateway = Gateway(
        attach=attach, binding=binding, queue=await open_queue(root / "queue.sqlite"), adapter=agent,
        journal=Journal(root / "events.jsonl"), publisher=Publisher(session, attach, binding, log), log=log,
    )
    await gateway.start()
    while gateway.status().queue_depth or gateway.status().active_execution == "running":
        await asyncio.sleep(0.005)
    crashpoints.arm(steps)
    payload = SubmitPromptPayload(prompt=f"prompt {steps}")
    order = SubmitPromptRequest(kind="submit_prompt", payload=payload)
    print((await gateway.submit(order)).request_id, flush=True)
    while gateway.status().queue_depth:
        await asyncio.sleep(0.005)
    await gateway.stop()

manifest, truth, steps = sys.argv[1:]
asyncio.run(life())
"""


def live_once(session: Any, truth: Path, step: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIFE, str(session.manifest_path), str(truth), str(step)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def stories(session: Any) -> dict[str, tuple[str, str | None]]:
    """State and error of every request, by its prompt."""
    with sqlite3.connect(session.gateway_root / "queue.sqlite") as connection:
        found = connection.execute(
            "SELECT payload_json, state, error_detail FROM gateway_requests"
        ).fetchall()
    return {json.loads(payload)["prompt"]: (state, error) for payload, state, error in found}


async def states(session: Any) -> dict[str, str]:
    """What the receipt of every request says, by its prompt."""
    queue = await open_queue(session.gateway_root / "queue.sqlite")
    try:
        page = await queue.receipts.page(Filter(limit=200))
    finally:
        await queue.close()
    return {str(receipt.payload["prompt"]): receipt.state for receipt in page.receipts}


def test_a_gateway_may_die_at_any_step(house: House, tmp_path: Path) -> None:
    """Whatever step it dies at, what was accepted is still there, and the agent gets it once at most.

    A completed request reached the agent; a failed one says that the gateway stopped.
    """
    session = house.launch(headless=True)
    truth = tmp_path / "truth.txt"
    lives = [live_once(session, truth, 1)]
    while lives[-1].returncode != 0:
        assert lives[-1].returncode == -signal.SIGKILL, lives[-1].stderr
        lives.append(live_once(session, truth, len(lives) + 1))

    told, received = stories(session), truth.read_text().splitlines()
    receipts = asyncio.run(states(session))
    assert len(lives) > 8
    assert {state for state, _ in told.values()} == {"completed", "failed"}
    for number, life in enumerate(lives, start=1):
        prompt = f"prompt {number}"
        was_accepted = bool(life.stdout)
        times = received.count(prompt)
        assert times <= 1, life.stderr
        # One that died on the way may or may not have accepted it, but never half.
        assert prompt in told or not (was_accepted or times), life.stderr
        story = told.get(prompt)
        later = "interrupted" if times else "never begun"
        died = ("failed", f"{DIED_RUNNING}; later its turn was found {later}")
        assert story in (None, ("completed", None), died), life.stderr
        assert times == 1 or story != ("completed", None), life.stderr
        # What a receipt says is proved: an end that needs the agent has its truth behind it.
        state = receipts.get(prompt)
        assert state in ({"completed", "interrupted"} if times else {None, "failed"}), life.stderr


def test_a_killed_gateway_leaves_its_turn_running_and_the_next_one_waits_for_it(house: House) -> None:
    """The turn ends by itself, its request is failed and not repeated, and nothing starts meanwhile."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 3]]")
    client.submit_prompt("next [[say hello]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    there = attach.live(session)
    assert there is not None

    os.kill(there.pid, signal.SIGKILL)
    house.until(lambda: attach.live(session) is None)
    house.attach(session)
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
    house.until(lambda: attach.live(session) is None)

    assert (session.gateway_root / "run/current-instance.json").exists()
    assert attach.detach(session, house.registry).detail == "no gateway was attached"
    assert not (session.gateway_root / "run/current-instance.json").exists()
    assert house.attach(session).gateway_port == there.port


@pytest.mark.parametrize("crash_at", [1, 4, 8, 12])
def test_a_gateway_that_dies_while_starting_can_be_attached_again(house: House, crash_at: int) -> None:
    """A crash in the middle of its first writes leaves nothing in the way."""
    session = house.launch(headless=True)
    died = subprocess.run(
        [sys.executable, "-m", "posthouse.gateway", "--gateway-root", str(session.gateway_root)],
        env={**os.environ, names.CRASH_AT: str(crash_at)},
        timeout=60,
        check=False,
    )

    assert (died.returncode, attach.live(session)) == (-signal.SIGKILL, None)
    house.attach(session)
    house.client(session).submit_prompt("hello [[say hello]]")
    house.settle(session)
    assert house.rows(session) == [("submit_prompt", "completed", None)]


def test_a_gateway_that_can_not_start_says_why(house: House) -> None:
    """The caller gets the gateway's own words, and nothing runs or is published."""
    session = house.launch(headless=True)
    (session.gateway_root / "queue.sqlite").mkdir()

    with pytest.raises(AttachFailed, match=r"queue.sqlite can't be used: unable to open database file"):
        house.attach(session)

    assert attach.live(session) is None
    assert house.read(session, "state.json")["gateway_health"] == "not_attached"
