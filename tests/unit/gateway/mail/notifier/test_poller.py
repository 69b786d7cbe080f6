"""One look of the notifier: what it decides, and the one row it writes."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from posthouse.gateway.mail.notifier import operator_alert
from posthouse.mailbox import MailTransportError, NotifyBlock
from posthouse.testing.gateway_with_mailbox import House, Opened
from posthouse.testing.running_gateways import is_at_rest

_ENABLE = {"interval_seconds": 3600}


def _audit(house: House, *columns: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(house.session.gateway_root / "queue.sqlite") as connection:
        return connection.execute(
            f"SELECT {', '.join(columns)} FROM gateway_notifier_audit ORDER BY audit_id"
        ).fetchall()


def _run(house: Opened, work: Callable[[House], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with house(**options) as there:
            answer = await there.ask("PUT", "/v1/mail-notifier", _ENABLE)
            assert answer.status == 200, answer.body
            return await work(there)

    return asyncio.run(run())


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


async def _carried_out(house: House) -> None:
    await _until(lambda: is_at_rest(house.gateway))


async def _received(house: House) -> str:
    await _until(lambda: bool(house.agent.received))
    return house.agent.received[-1].text


def test_mail_wakes_an_idle_agent(house: Opened) -> None:
    """Eligible mail becomes one prompt through the queue, and the row says which messages it is about."""

    async def work(there: House) -> Any:
        ref = there.mailbox.receive("hello", block=NotifyBlock(text="look here"))
        polled = await there.gateway.mail.poller.poll()
        prompt = await _received(there)
        rows = _audit(
            there, "outcome", "unread_count", "unread_summary_json", "enqueued_request_id", "detail"
        )
        return ref, polled.result, prompt, rows

    ref, result, prompt, rows = _run(house, work)

    assert result == "woken"
    assert f"message_ref: {ref}" in prompt
    assert prompt.endswith("Notice from a@houmao.localhost:\n> look here")
    ((outcome, count, summary, request_id, detail),) = rows
    assert (outcome, count, detail) == ("enqueued", 1, None)
    assert json.loads(summary) == [
        {"created_at_utc": "2026-03-19T08:00:01Z", "message_ref": ref, "subject": "hello", "thread_ref": ref}
    ]
    assert request_id.startswith("gwreq-")


def test_the_prompt_is_an_internal_request(house: Opened) -> None:
    """It is a row of its own kind with nothing but the prompt, and an event of its own."""

    async def work(there: House) -> Any:
        there.mailbox.receive("hello")
        await there.gateway.mail.poller.poll()
        prompt = await _received(there)
        with sqlite3.connect(there.session.gateway_root / "queue.sqlite") as connection:
            rows = connection.execute("SELECT request_kind, payload_json FROM gateway_requests").fetchall()
        lines = (there.session.gateway_root / "events.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        told = [event["request_kind"] for event in events if event["kind"] == "accepted_internal"]
        return prompt, rows, told

    prompt, rows, told = _run(house, work)

    assert [(kind, json.loads(payload)) for kind, payload in rows] == [
        ("mail_notifier_prompt", {"prompt": prompt})
    ]
    assert told == ["mail_notifier_prompt"]


def test_an_empty_inbox_wakes_nobody(house: Opened) -> None:
    """Nothing eligible is a row, and no prompt."""

    async def work(there: House) -> Any:
        polled = await there.gateway.mail.poller.poll()
        return polled.result, _audit(there, "outcome", "unread_count"), there.agent.received

    assert _run(house, work) == ("idle", [("empty", 0)], [])


def test_a_busy_agent_is_left_alone(house: Opened) -> None:
    """While a prompt is carried out mail waits, and the row says for what."""

    async def work(there: House) -> Any:
        there.agent.hold()
        await there.ask("POST", "/v1/requests", {"kind": "submit_prompt", "payload": {"prompt": "hi"}})
        await _received(there)
        there.mailbox.receive("hello")
        await there.gateway.mail.poller.poll()
        rows = _audit(there, "outcome", "active_execution", "queue_depth", "detail")
        there.agent.let_go()
        return rows

    assert _run(house, work) == [("busy_skip", "running", 1, "another request is executing")]


def test_an_unready_tui_is_left_alone(house: Opened) -> None:
    """A TUI that shows a dialog gets no prompt."""

    async def work(there: House) -> Any:
        there.agent.show("blocked", composer=None, dialog="trust")
        there.mailbox.receive("hello")
        polled = await there.gateway.mail.poller.poll()
        return polled.result, _audit(there, "outcome"), there.agent.received

    assert _run(house, work, is_headless=False) == ("busy", [("busy_skip",)], [])


def test_trouble_is_written_down_and_polling_goes_on(house: Opened) -> None:
    """A mailbox that fails is a row and the last error; the notifier stays enabled."""

    async def work(there: House) -> Any:
        there.mailbox.failure = MailTransportError("the disk is full")
        await there.gateway.mail.poller.poll()
        status = await there.ask("GET", "/v1/mail-notifier")
        shown = {key: status.body[key] for key in ("enabled", "supported", "support_error", "last_error")}
        return _audit(there, "outcome", "unread_count", "detail"), shown

    assert _run(house, work) == (
        [("poll_error", None, "the disk is full")],
        {
            "enabled": True,
            "supported": False,
            "support_error": "the disk is full",
            "last_error": "the disk is full",
        },
    )


def test_an_agent_that_lost_its_mailbox_is_polled_no_more(house: Opened) -> None:
    """When the manifest names no mailbox any more the notifier is disabled, and says why."""

    async def work(there: House) -> Any:
        from posthouse.sessions import mailbox_binding
        from posthouse.sessions.registry import Registry

        mailbox_binding.bind(there.session, None, Registry(there.session.root / "registry"))
        await there.gateway.mail.poller.poll()
        status = await there.ask("GET", "/v1/mail-notifier")
        return _audit(there, "outcome"), status.body["enabled"], "no mailbox" in status.body["last_error"]

    assert _run(house, work) == ([("poll_error",)], False, True)


@pytest.mark.parametrize(("mode", "expected"), [("any_inbox", ["enqueued"]), ("unread_only", ["empty"])])
def test_modes_choose_what_is_eligible(house: Opened, mode: str, expected: list[str]) -> None:
    """Read mail in the inbox wakes under any_inbox and not under unread_only."""

    async def work(there: House) -> Any:
        await there.ask("PUT", "/v1/mail-notifier", {**_ENABLE, "mode": mode})
        there.mailbox.read(there.mailbox.receive("hello"))
        await there.gateway.mail.poller.poll()
        return [row[0] for row in _audit(there, "outcome")]

    assert _run(house, work) == expected


def test_unchanged_mail_wakes_again_unless_it_backs_off(house: Opened) -> None:
    """The contract's timing repeats at every poll; with a back-off only new mail wakes at once."""

    async def work(there: House) -> Any:
        there.mailbox.receive("hello")
        poll = there.gateway.mail.poller.poll
        for _ in range(2):
            await poll()
            await _carried_out(there)
        await there.ask("PUT", "/v1/mail-notifier/wake", {"backoff_max_seconds": 7200})
        await poll()
        there.mailbox.receive("another")
        await poll()
        return [row[0] for row in _audit(there, "outcome")]

    assert _run(house, work) == ["enqueued", "enqueued", "dedup_skip", "enqueued"]


def test_news_alone_writes_rows_between_the_polls(house: Opened) -> None:
    """A look for news writes a row only when there is some; a repeated one on a busy agent writes none."""

    async def work(there: House) -> Any:
        news = there.gateway.mail.poller.poll_unannounced
        results = [(await news()).result]
        there.mailbox.receive("hello")
        there.agent.show("blocked", composer=None, dialog="trust")
        results.append((await news()).result)
        results.append((await news(is_repeated=True)).result)
        there.agent.show("ready")
        results.append((await news(is_repeated=True)).result)
        await _received(there)
        await _carried_out(there)
        results.append((await news()).result)
        return results, [row[0] for row in _audit(there, "outcome")]

    assert _run(house, work, is_headless=False) == (
        ["idle", "busy", "busy", "woken", "idle"],
        ["busy_skip", "enqueued"],
    )


def test_the_operator_hears_of_mail_that_nobody_reads(house: Opened) -> None:
    """After the given number of wake-ups one note is sent about a message, and never a second one."""

    async def work(there: House) -> Any:
        there.mailbox.receive("ignored")
        around, desk = there.gateway.mail.poller._gateway, there.gateway.mail.mailboxes
        for _ in range(4):
            polled = await there.gateway.mail.poller.poll()
            assert polled.mail is not None
            await operator_alert.notify_operator(polled.mail, 2, around, desk)
            await _carried_out(there)
        sent = await there.ask("POST", "/v1/mail/list", {"box": "sent", "include_body": True})
        return [(one["to"][0]["address"], one["subject"]) for one in sent.body["messages"]]

    assert _run(house, work) == [("HOUMAO-operator@houmao.localhost", "Mail that is not being read")]
