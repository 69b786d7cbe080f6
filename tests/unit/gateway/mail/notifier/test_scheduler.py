"""When the notifier polls."""

import asyncio
import sqlite3
from typing import Any

from posthouse.testing.gateway_with_mailbox import House, Opened


def _outcomes(house: House) -> list[str]:
    with sqlite3.connect(house.session.gateway_root / "queue.sqlite") as connection:
        return [row[0] for row in connection.execute("SELECT outcome FROM gateway_notifier_audit ORDER BY 1")]


async def _until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def _enabled(there: House, interval: int) -> None:
    assert (await there.ask("PUT", "/v1/mail-notifier", {"interval_seconds": interval})).status == 200


def test_every_interval_has_its_row(house: Opened) -> None:
    """An enabled notifier polls at its interval, whatever it finds."""

    async def run() -> list[str]:
        async with house() as there:
            await _enabled(there, 1)
            await _until(lambda: len(_outcomes(there)) >= 2)
            return _outcomes(there)

    assert asyncio.run(run())[:2] == ["empty", "empty"]


def test_mail_wakes_at_once_where_that_is_asked_for(house: Opened) -> None:
    """With wake immediate, mail that comes wakes an idle agent long before its interval is over."""

    async def run() -> tuple[int, list[str]]:
        async with house() as there:
            await there.ask("PUT", "/v1/mail-notifier/wake", {"wake": "immediate"})
            await _enabled(there, 3600)
            await _until(lambda: there.mailbox.is_watched)
            there.mailbox.receive("hello")
            await _until(lambda: there.agent.received)
            return len(there.agent.received), _outcomes(there)

    assert asyncio.run(run()) == (1, ["enqueued"])


def test_a_busy_agent_is_woken_when_it_is_free(house: Opened) -> None:
    """Mail that came while the agent worked wakes it as soon as it has finished."""

    async def run() -> list[str]:
        async with house() as there:
            await there.ask("PUT", "/v1/mail-notifier/wake", {"wake": "immediate"})
            await _enabled(there, 3600)
            await _until(lambda: there.mailbox.is_watched)
            there.agent.hold()
            await there.ask("POST", "/v1/requests", {"kind": "submit_prompt", "payload": {"prompt": "work"}})
            await _until(lambda: there.agent.received)
            there.mailbox.receive("hello")
            await _until(lambda: _outcomes(there) == ["busy_skip"])
            there.agent.let_go()
            await _until(lambda: len(there.agent.received) == 2)
            return _outcomes(there)

    assert asyncio.run(run()) == ["busy_skip", "enqueued"]


def test_by_default_new_mail_waits_for_the_interval(house: Opened) -> None:
    """Without that setting nothing watches the mailbox."""

    async def run() -> bool:
        async with house() as there:
            await _enabled(there, 3600)
            there.mailbox.receive("hello")
            await there.ask("GET", "/v1/mail-notifier")
            return there.mailbox.is_watched

    assert asyncio.run(run()) is False
