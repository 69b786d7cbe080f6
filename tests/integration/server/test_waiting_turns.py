"""Turns that a gateway accepted and has not begun, with a real session and a gateway that obeys its test."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from posthouse.agent.adapter import Prompt
from posthouse.clients.connections import HttpResponse
from posthouse.contracts import managed_agent_files as mf
from posthouse.server.gateways import GatewayLost
from posthouse.server.turns.agent_history import AgentHistory
from posthouse.server.turns.agent_turns import AgentTurns
from posthouse.server.turns.follower import TurnFollower
from posthouse.server.turns.store import TurnStore
from posthouse.sessions import session as sessions
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.support import locks
from posthouse.turns import runner
from posthouse.turns.runner import TurnActive
from posthouse.turns.state import LOCK

LIMIT_SECONDS = 180
HELLO = Prompt(text="[[say hello]]")


class ObedientGateway:
    """Answers as its test says, and remembers what it accepted."""

    def __init__(self) -> None:
        self.accepted: list[dict[str, Any]] = []
        self.state = "accepted"
        self.is_lost = False
        self._changed = asyncio.Event()

    def become(self, state: str) -> None:
        self.state = state
        self._changed.set()

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_: Any) -> HttpResponse:
        if method == "POST" and body is not None:
            self.accepted.append(json.loads(body)["payload"])
            if self.is_lost:
                raise GatewayLost("it fell silent")
            return _answer(202, {"request_id": "gwreq-1"})
        if method == "GET" and self.state == "accepted":
            await self._changed.wait()
        return _answer(200, {"state": self.state, "error": f"the gateway says {self.state}"})


def _answer(status: int, body: dict[str, Any]) -> HttpResponse:
    return HttpResponse(status=status, headers=(), body=json.dumps(body).encode())


class Life:
    """One server's life with the agent."""

    def __init__(self, folder: Path, gateway: Any) -> None:
        self.told: list[tuple[str, str]] = []
        self.gateway = gateway
        self.book = AgentHistory("gpu", TurnStore(folder, logging.getLogger("test")))
        follower = TurnFollower(self.book, logging.getLogger("test"), self._tell, self._find)
        self.turns = AgentTurns(self.book, follower)

    def _tell(self, kind: str, record: mf.TurnRecord) -> None:
        self.told.append((kind, record.status))

    async def _find(self) -> Any:
        return self.gateway

    async def until_over(self, turn_id: str) -> mf.TurnRecord:
        while True:
            record = await self.book.find(turn_id, None)
            if record is not None and record.is_final and self.book.active is self.book.waiting is None:
                return record
            await asyncio.sleep(0.01)


@pytest.fixture
def gpu(agents: Agents, tmp_path: Path) -> Session:
    return agents.launch(LaunchSpec(tool="scripted", name="gpu", headless=True, working_directory=tmp_path))


def lived(folder: Path, story: Callable[[Life], Awaitable[None]], gateway: Any = None) -> None:
    async def live() -> None:
        life = Life(folder, gateway or ObedientGateway())
        async with asyncio.timeout(LIMIT_SECONDS):
            await life.turns.recover()
            await story(life)
            await life.turns.close()

    asyncio.run(live())


async def admitted(life: Life, gpu: Session) -> mf.TurnRecord:
    return await life.turns.admit(gpu, HELLO, life.gateway)


def test_a_waiting_turn_is_the_active_one_until_its_gateway_begins_it(gpu: Session, tmp_path: Path) -> None:
    """Others are refused, the next server still knows it, and asked for by its id it is started, once."""
    turn_ids: list[str] = []

    async def first(life: Life) -> None:
        record = await admitted(life, gpu)
        turn_ids.append(record.turn_id)
        assert [order["turn_id"] for order in life.gateway.accepted] == turn_ids
        with pytest.raises(TurnActive):
            await life.turns.submit(gpu, HELLO)
        assert await life.book.running(gpu) == record

    async def second(life: Life) -> None:
        called_back = Prompt(text=HELLO.text, turn_id=turn_ids[0])
        before = Prompt(text="[[say before]]", turn_id="turn-before")
        await life.turns.submit(gpu, before, is_from_gateway=True)
        while life.book.active is not None:
            await asyncio.sleep(0.01)
        started = await life.turns.submit(gpu, called_back, is_from_gateway=True)
        again = await life.turns.submit(gpu, called_back, is_from_gateway=True)
        life.gateway.become("running")
        over = await life.until_over(turn_ids[0])
        assert started.turn_id == again.turn_id == over.turn_id
        assert (over.status, over.history_summary) == ("completed", "hello")
        assert life.told == [("turn_started", "active"), ("turn_ended", "completed")] * 2

    lived(tmp_path, first)
    lived(tmp_path, second)
    assert len(runner.turns_of(gpu.turns_root)) == 2


def test_a_waiting_turn_that_is_interrupted_never_begins(gpu: Session, tmp_path: Path) -> None:
    """Its gateway, which asks for it later, is told so."""

    async def story(life: Life) -> None:
        record = await admitted(life, gpu)
        interrupted = await life.turns.interrupt(gpu)
        assert interrupted is not None
        assert (interrupted.turn_id, interrupted.status) == (record.turn_id, "interrupted")
        called_back = Prompt(text=HELLO.text, turn_id=record.turn_id)
        assert await life.turns.submit(gpu, called_back, is_from_gateway=True) == interrupted
        assert await life.turns.interrupt(gpu) is None

    lived(tmp_path, story)
    assert runner.turns_of(gpu.turns_root) == []
    assert sessions.read(gpu.manifest_path).manifest.headless == gpu.manifest.headless


def test_what_a_gateway_gives_up_fails_with_its_words(gpu: Session, tmp_path: Path) -> None:
    """Nothing of it can begin later."""

    async def story(life: Life) -> None:
        record = await admitted(life, gpu)
        life.gateway.become("failed")
        over = await life.until_over(record.turn_id)
        assert (over.status, over.error) == ("failed", "never started: the gateway says failed")

    lived(tmp_path, story)
    assert runner.turns_of(gpu.turns_root) == []


def test_a_gateway_that_went_away_does_not_stand_in_the_way(gpu: Session, tmp_path: Path) -> None:
    """The next turn calls off the one that waited there; what a silent gateway may have is called off too."""

    async def story(life: Life) -> None:
        waiting = await admitted(life, gpu)
        silent, life.gateway = life.gateway, None
        taken = await life.turns.submit(gpu, HELLO)
        assert (await life.until_over(taken.turn_id)).status == "completed"
        given_up = await life.book.find(waiting.turn_id, None)
        assert given_up is not None
        assert given_up.error == "never started: its gateway ended before it started the turn"

        silent.is_lost = True
        with pytest.raises(GatewayLost):
            await life.turns.admit(gpu, HELLO, silent)
        lost = await life.book.find(silent.accepted[-1]["turn_id"], None)
        assert lost is not None
        assert (lost.status, life.book.waiting) == ("failed", None)

    lived(tmp_path, story)
    assert len(runner.turns_of(gpu.turns_root)) == 1


def test_a_turn_that_nobody_can_tell_of_yet_is_found_out_later(
    gpu: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gateway fell silent while somebody else was starting a turn; it ends up in nobody's way."""
    monkeypatch.setattr(runner, "_LOCK_SECONDS", 0.1)

    async def story(life: Life) -> None:
        life.gateway.is_lost = True
        with locks.hold(gpu.turns_root / LOCK), pytest.raises(GatewayLost):
            await admitted(life, gpu)
        over = await life.until_over(life.gateway.accepted[0]["turn_id"])
        assert over.error == "never started: its gateway stopped responding before it confirmed the turn"
        taken = await life.turns.submit(gpu, HELLO)
        assert (await life.until_over(taken.turn_id)).status == "completed"

    lived(tmp_path, story)
