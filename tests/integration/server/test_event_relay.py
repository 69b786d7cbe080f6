"""Real gateways, heard by a server's hub while somebody listens."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from posthouse.clients.gateway import GatewayClient
from posthouse.events.journal import Journal, read_events
from posthouse.events.readers import EventReaders
from posthouse.server.agent_index import AgentIndex
from posthouse.server.event_relay.hub import HISTORY_TRUNCATED, EventHub
from posthouse.server.member import Member
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.members import member
from posthouse.testing.peers import answering
from posthouse.testing.running_gateways import Served, serving

LIMIT_SECONDS = 120


def agent() -> FakeAgent:
    made = FakeAgent()
    made.appear()
    return made


async def port_of(asked: Member) -> int | None:
    return None if asked.record.gateway is None else asked.record.gateway.port


class Heard:
    """A journal with a hub, and what the journal tells of each agent's requests."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.journal = Journal(folder / "events.jsonl")
        self.hub = EventHub(self.journal, folder / "heard.json", port_of, logging.getLogger("test"))

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(read_events(self.journal.path))

    def of(self, agent_id: str) -> list[str]:
        """What became of its requests, in short."""
        told = [event for event in self.events if event.get("agent_id") == agent_id]
        shown = [event for event in told if event["kind"] in ("accepted", "completed", "gap")]
        return [f"{event['kind']}{' late' if event.get('late') else ''}" for event in shown]

    async def until(self, is_true: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while not is_true():
                await asyncio.sleep(0.02)


@asynccontextmanager
async def opened(folder: Path, *members: Member) -> AsyncIterator[Heard]:
    house = Heard(folder)
    house.hub.update(AgentIndex(members, {}))
    try:
        yield house
    finally:
        await house.hub.close()
        house.journal.close()


async def prompt(served: Served) -> None:
    """Have the agent do something, to its end as the gateway's own events tell it."""
    client = GatewayClient("127.0.0.1", served.port, timeout_seconds=LIMIT_SECONDS)

    def asked() -> None:
        with client.events() as feed:
            client.submit_prompt("hello")
            next(event for event in feed if event.kind == "completed")

    await asyncio.to_thread(asked)


def with_gateways(
    folder: Path, count: int, scenario: Callable[[list[Served]], Coroutine[Any, Any, None]]
) -> None:
    with ExitStack() as opened_ones:
        served = [
            opened_ones.enter_context(serving(folder / f"agent-{number}", agent)) for number in range(count)
        ]
        asyncio.run(scenario(served))


def test_gateways_are_heard_only_while_somebody_listens(tmp_path: Path) -> None:
    """Each event names its agent; nobody listens to agents that were not asked for."""

    async def scenario(served: list[Served]) -> None:
        one, two = (member(f"a{number}", gateway_port=each.port) for number, each in enumerate(served))
        async with opened(tmp_path / "server", one, two) as house:
            await prompt(served[0])
            assert house.hub.followed == 0
            listener = await house.hub.join(frozenset({"a0"}))
            assert house.hub.followed == 1
            await prompt(served[0])
            await prompt(served[1])
            await house.until(lambda: house.of("a0")[-1:] == ["completed"])
            house.hub.leave(listener)
            assert house.hub.followed == 0
            assert (house.of("a0"), house.of("a1")) == (["accepted", "completed"], [])

    with_gateways(tmp_path, 2, scenario)


def test_what_happened_while_nobody_listened_is_told_late(tmp_path: Path) -> None:
    """After a pause, a close and a kill the hub goes on where it was, and nothing is told twice."""

    async def scenario(served: list[Served]) -> None:
        one, folder = member("a0", gateway_port=served[0].port), tmp_path / "server"
        async with opened(folder, one) as house:
            house.hub.leave(await house.hub.join(None))
            await prompt(served[0])
            await house.hub.join(None)
            await house.until(lambda: house.of("a0") == ["accepted late", "completed late"])
        await prompt(served[0])
        async with opened(folder, one) as house:
            await house.hub.join(None)
            await prompt(served[0])
            expected = 2 * ["accepted late", "completed late"] + ["accepted", "completed"]
            await house.until(lambda: house.of("a0") == expected)
        (folder / "heard.json").unlink()  # as if it had been killed before it wrote anything
        async with opened(folder, one) as house:
            await house.hub.join(None)
            await prompt(served[0])
            await house.until(lambda: house.of("a0") == [*expected, "accepted", "completed"])
            followed = [event for event in house.events if event["kind"] == "gateway_followed"]
            assert len(followed) == 1

    with_gateways(tmp_path, 1, scenario)


def test_a_new_agents_gateway_is_told_from_its_beginning(tmp_path: Path) -> None:
    """Also when its gateway comes before the server hears of it; a gateway that goes is heard out."""

    async def scenario(served: list[Served]) -> None:
        one, two = (member(f"a{number}", gateway_port=each.port) for number, each in enumerate(served))
        async with opened(tmp_path / "server", one) as house:
            await house.hub.join(None)
            await prompt(served[0])
            await prompt(served[1])
            house.hub.update(AgentIndex([one, two], {}))
            await house.until(lambda: house.of("a1") == ["accepted", "completed"])
            house.hub.update(AgentIndex([two], {}))
            assert house.hub.followed == 1
            await prompt(served[0])
            await house.until(lambda: house.of("a0") == 2 * ["accepted", "completed"])

    with_gateways(tmp_path, 2, scenario)


def test_a_gateway_that_comes_while_somebody_listens_is_told_from_its_start(tmp_path: Path) -> None:
    """What an earlier gateway of that agent told is no news; what the new one tells at once is."""

    async def scenario(served: list[Served]) -> None:
        async with opened(tmp_path / "server", member("a0")) as house:
            await house.hub.join(None)
            await prompt(served[0])
            house.hub.update(AgentIndex([member("a0", gateway_port=served[0].port)], {}))
            await house.until(lambda: house.of("a0") == ["accepted", "completed"])

    with_gateways(tmp_path, 1, scenario)


def test_a_stream_that_breaks_is_taken_up_after_its_last_event(tmp_path: Path) -> None:
    """A gateway that restarts is found again, and asked for what came after what was heard."""
    asked: list[str] = []

    def gateway(head: bytes) -> bytes:
        number = len(asked)
        asked.append(head.split(b" ")[1].decode().partition("?")[2])
        told = f'id: {number}-end\n\nid: {number + 1}-end\ndata: {{"kind": "told"}}\n\n'
        return f"HTTP/1.1 200 OK\r\n\r\n{told}".encode()

    async def scenario() -> None:
        async with answering(gateway) as port, opened(tmp_path / "server") as house:
            await house.hub.join(None)
            house.hub.update(AgentIndex([member("a0", gateway_port=port)], {}))
            await house.until(lambda: len(asked) >= 3)

    asyncio.run(scenario())
    assert asked[:3] == ["follow=true&since=start", "follow=true&since=1-end", "follow=true&since=2-end"]


def test_a_long_past_cuts_nobody_who_reads_along(tmp_path: Path) -> None:
    """More than is kept in memory comes in one piece, and a reader that keeps reading hears all of it."""
    count = 3000
    line = json.dumps({"kind": "told", "detail": 300 * "x"})
    past = "".join(f"id: {number}-end\ndata: {line}\n\n" for number in range(1, count + 1))

    answer = f"HTTP/1.1 200 OK\r\n\r\nid: 0-end\n\n{past}".encode()

    async def scenario() -> None:
        async with (
            answering(lambda _: answer, stays=True) as port,
            opened(tmp_path / "server") as house,
        ):
            reader, heard = EventReaders(house.journal).add_reader(None), 0
            await house.hub.join(None)
            house.hub.update(AgentIndex([member("a0", gateway_port=port)], {}))
            async with asyncio.timeout(LIMIT_SECONDS):
                while heard < count and not reader.has_fallen_behind:
                    heard += len(await reader.next())
            assert (heard, reader.has_fallen_behind) == (count, False)
            reader.close()

    asyncio.run(scenario())


def test_a_gateway_that_does_not_answer_keeps_nobody_waiting_for_long(tmp_path: Path) -> None:
    """A port where nobody listens is no reason to refuse a reader."""

    async def scenario() -> None:
        async with opened(tmp_path / "server", member("a0", gateway_port=1)) as house:
            await house.hub.join(None)
            assert (house.hub.followed, house.events) == (0, [])

    asyncio.run(scenario())


def test_lines_that_the_journal_lost_are_declared(tmp_path: Path) -> None:
    """After a power cut the file of what was heard may be newer than the journal."""

    async def scenario() -> None:
        async with opened(tmp_path, member("a0", gateway_port=1)) as house:
            (tmp_path / "heard.json").write_text('{"schema_version":1,"journal_number":7,"heard":{}}')
            await house.hub.join(None)
            [gap] = house.events
            assert {name: gap[name] for name in ("kind", "missing", "reason")} == {
                "kind": "gap",
                "missing": None,
                "reason": HISTORY_TRUNCATED,
            }

    asyncio.run(scenario())
