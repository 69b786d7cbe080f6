"""Agents come and go under a watching server, on a real registry and a real tmux."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from posthouse.contracts import names
from posthouse.server.discovery import Discovery
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux
from posthouse.testing.waiting import LIMIT_SECONDS


class Watched:
    """A discovery, and who it says is there."""

    def __init__(self, agents: Agents) -> None:
        self._changed = asyncio.Event()
        self.discovery = Discovery(agents.registry, logging.getLogger("test"), self._changed.set)

    @property
    def live(self) -> list[str]:
        return [member.record.agent_name for member in self.discovery.index.live]

    async def until(self, is_true: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while not is_true():
                self._changed.clear()
                await self._changed.wait()


def watched(agents: Agents, scenario: Callable[[Watched], Awaitable[None]]) -> None:
    async def run() -> None:
        house = Watched(agents)
        await house.discovery.open()
        try:
            await scenario(house)
        finally:
            await house.discovery.close()

    asyncio.run(run())


def launch(agents: Agents, folder: Path, name: str) -> Session:
    return agents.launch(LaunchSpec(tool="scripted", name=name, headless=True, working_directory=folder))


def test_who_is_there_at_the_start_is_known_at_once(agents: Agents, tmp_path: Path) -> None:
    """Nothing has to happen first, and one whose session died is not among the living."""
    gone = launch(agents, tmp_path, "gone")
    launch(agents, tmp_path, "here")
    terminal.kill(gone.tmux, gone.tmux_session_name)

    async def scenario(house: Watched) -> None:
        assert house.live == ["here"]
        assert house.discovery.index.find("gone").session_id == gone.session_id

    watched(agents, scenario)


def test_agents_that_come_and_go_are_noticed(agents: Agents, tmp_path: Path) -> None:
    """By their records, by their tmux sessions, and by a server that was not there before."""

    async def scenario(house: Watched) -> None:
        assert house.live == []
        one = await asyncio.to_thread(launch, agents, tmp_path, "one")
        await house.until(lambda: house.live == ["one"])
        await asyncio.to_thread(launch, agents, tmp_path, "two")
        await house.until(lambda: house.live == ["one", "two"])
        await asyncio.to_thread(terminal.kill, one.tmux, one.tmux_session_name)
        await house.until(lambda: house.live == ["two"])
        await asyncio.to_thread(agents.stop, agents.find(name="two"))
        await house.until(lambda: house.live == [])
        assert house.discovery.index.find("two").record.lifecycle.state == "stopped"

    watched(agents, scenario)


def test_a_tmux_server_that_died_empties_the_list_until_it_is_back(agents: Agents, tmp_path: Path) -> None:
    """What is relaunched is there again without a restart."""
    made = launch(agents, tmp_path, "gpu")

    async def scenario(house: Watched) -> None:
        assert house.live == ["gpu"]
        await asyncio.to_thread(Tmux(agents.server).run, "kill-server")
        await house.until(lambda: house.live == [])
        await asyncio.to_thread(agents.relaunch, agents.find(agent_id=made.agent_id), None)
        await house.until(lambda: house.live == ["gpu"])

    watched(agents, scenario)


def test_folders_that_are_removed_and_made_again_are_followed(agents: Agents, tmp_path: Path) -> None:
    """A record's, or the registry's own, however quickly; the new one is another folder."""
    made = launch(agents, tmp_path, "gpu")
    record = agents.registry.get(made.agent_id)
    assert record is not None

    def removed() -> None:
        agents.registry.remove(made.agent_id)

    def emptied() -> None:
        shutil.rmtree(agents.registry.root)

    async def scenario(house: Watched) -> None:
        for name, remove in (("one", removed), ("two", emptied)):
            remove()
            agents.registry.publish(record)
            await house.until(lambda: house.live == ["gpu"])
            agents.registry.publish(structs.replace(record, agent_name=name))
            await house.until(lambda name=name: house.live == [name])  # type: ignore[misc]  # bound now

    watched(agents, scenario)


def test_one_broken_record_is_told_and_the_others_stay(
    agents: Agents, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its problem names the file; mended or removed, it is forgotten."""
    launch(agents, tmp_path, "good")
    broken = agents.registry.root / names.LIVE_AGENTS / "broken"

    async def scenario(house: Watched) -> None:
        broken.mkdir()
        (broken / names.RECORD_FILE).write_text("{")
        await house.until(lambda: "broken" in house.discovery.problems)
        assert str(broken / names.RECORD_FILE) in house.discovery.problems["broken"]
        assert house.live == ["good"]
        await asyncio.to_thread(shutil.rmtree, broken)
        await house.until(lambda: not house.discovery.problems)

    watched(agents, scenario)
    assert [record.message for record in caplog.records] == ["record unusable"]
