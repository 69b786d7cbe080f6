"""The notifier's settings over HTTP, and how far a message has come."""

import asyncio
from typing import Any

import pytest

from posthouse.testing.gateway_with_mailbox import House, Opened

_DEFAULTS: dict[str, Any] = {
    "schema_version": 1,
    "enabled": False,
    "interval_seconds": None,
    "mode": "any_inbox",
    "appendix_text": "",
    "context_error_policy": "continue_current",
    "pre_notification_context_action": "none",
    "notify_block_render": "enabled",
    "notify_block_auth_mode": "permissive-log",
    "notify_block_auth_verifier": "none",
    "notify_block_shared_tokens": [],
    "notify_block_per_message_chars": 512,
    "notify_block_total_chars": 2048,
    "supported": True,
    "support_error": None,
    "last_poll_at_utc": None,
    "last_notification_at_utc": None,
    "last_error": None,
}


async def _put(house: House, **body: Any) -> dict[str, Any]:
    answer = await house.ask("PUT", "/v1/mail-notifier", {"interval_seconds": 60, **body})
    assert answer.status == 200, answer.body
    changed: dict[str, Any] = {key: value for key, value in answer.body.items() if value != _DEFAULTS[key]}
    return changed


def test_the_status_has_every_field(house: Opened) -> None:
    """A notifier that nobody touched shows the contract's defaults."""

    async def ask() -> Any:
        async with house() as there:
            return (await there.ask("GET", "/v1/mail-notifier")).body

    assert asyncio.run(ask()) == _DEFAULTS


def test_what_is_left_out_stays_or_resets_as_the_contract_says(house: Opened) -> None:
    """Appendix and notices stay when left out, mode and policies reset, an empty appendix clears."""

    async def ask() -> list[dict[str, Any]]:
        async with house() as there:
            first = await _put(
                there,
                mode="unread_only",
                appendix_text="first",
                context_error_policy="clear_context",
                notify_block_render="disabled",
                notify_block_shared_tokens=["t"],
            )
            second = await _put(there, notify_block_render=None)
            third = await _put(there, appendix_text="")
            gone = await there.ask("DELETE", "/v1/mail-notifier")
            left = {key: value for key, value in gone.body.items() if value != _DEFAULTS[key]}
            return [first, second, third, left]

    kept = {"notify_block_render": "disabled", "notify_block_shared_tokens": ["t"]}
    on = {"enabled": True, "interval_seconds": 60}
    assert asyncio.run(ask()) == [
        {
            **on,
            **kept,
            "mode": "unread_only",
            "appendix_text": "first",
            "context_error_policy": "clear_context",
        },
        {**on, **kept, "appendix_text": "first"},
        {**on, **kept},
        kept,
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"interval_seconds": 0},
        {"interval_seconds": 60, "enabled": False},
        {"interval_seconds": 60, "enabled": 1},
        {"interval_seconds": "60"},
        {"interval_seconds": 60, "mode": "all"},
        {"interval_seconds": 60, "appendix_text": None},
        {"interval_seconds": 60, "wake": "immediate"},
        {"interval_seconds": 60, "pre_notification_context_action": "compact"},
    ],
)
def test_what_can_t_be_set_is_422(house: Opened, body: dict[str, Any]) -> None:
    """Wrong values, unknown fields and compacting what can't be compacted are refused; nothing changes."""

    async def ask() -> tuple[int, bool]:
        async with house() as there:
            answer = await there.ask("PUT", "/v1/mail-notifier", body)
            return answer.status, (await there.ask("GET", "/v1/mail-notifier")).body["enabled"]

    assert asyncio.run(ask()) == (422, False)


def test_an_agent_without_a_mailbox_can_t_be_notified(house: Opened) -> None:
    """Enabling is refused with 422, and the status says why it is not supported."""

    async def ask() -> tuple[int, bool, str]:
        async with house(bound=None) as there:
            refused = await there.ask("PUT", "/v1/mail-notifier", {"interval_seconds": 60})
            status = await there.ask("GET", "/v1/mail-notifier")
            return refused.status, status.body["supported"], status.body["support_error"]

    status, supported, reason = asyncio.run(ask())
    assert (status, supported) == (422, False)
    assert "no mailbox" in reason


def test_settings_of_our_own_have_a_route_of_their_own(house: Opened) -> None:
    """Whether mail wakes at once is not part of the contract's model; what is left out has its default."""

    async def ask() -> list[Any]:
        async with house() as there:
            before = await there.ask("GET", "/v1/mail-notifier/wake")
            put = await there.ask("PUT", "/v1/mail-notifier/wake", {"wake": "immediate"})
            after = await there.ask("GET", "/v1/mail-notifier/wake")
            return [before.body, put.body, after.body]

    rest = {"schema_version": 1, "backoff_max_seconds": None, "operator_note_after": 10}
    immediate = {**rest, "wake": "immediate"}
    assert asyncio.run(ask()) == [{**rest, "wake": "interval"}, immediate, immediate]


def test_settings_outlive_the_gateway(house: Opened) -> None:
    """A gateway that starts again has the same notifier."""

    async def ask() -> dict[str, Any]:
        async with house() as there:
            await _put(there, appendix_text="kept")
        async with house() as there:
            body = (await there.ask("GET", "/v1/mail-notifier")).body
            return {key: body[key] for key in ("enabled", "interval_seconds", "appendix_text")}

    assert asyncio.run(ask()) == {"enabled": True, "interval_seconds": 60, "appendix_text": "kept"}


def test_a_sender_sees_how_far_its_mail_has_come(house: Opened) -> None:
    """The steps are waiting, notified, read and answered; before that the reason is told."""

    async def ask() -> list[tuple[str, str | None, int]]:
        async with house() as there:
            ref = there.mailbox.receive("hello")
            steps = [await progress(there, ref)]
            await _put(there)
            steps.append(await progress(there, ref))
            await there.gateway.mail.poller.poll()
            while there.gateway.status().queue_depth:
                await asyncio.sleep(0.005)
            steps.append(await progress(there, ref))
            there.mailbox.read(ref)
            steps.append(await progress(there, ref))
            await there.ask("POST", "/v1/mail/reply", {"message_ref": ref, "body_content": "done"})
            steps.append(await progress(there, ref))
            return steps

    async def progress(there: House, ref: str) -> tuple[str, str | None, int]:
        body = (await there.ask("POST", "/v1/mail/progress", {"message_ref": ref})).body
        return body["step"], body["reason"], body["wake_count"]

    assert asyncio.run(ask()) == [
        ("waiting", "the notifier is disabled; the agent is not woken for its mail", 0),
        ("waiting", "the next poll announces it", 0),
        ("notified", "the agent was woken and has not read it yet", 1),
        ("read", None, 1),
        ("answered", None, 1),
    ]
