"""Mail over HTTP: exact shapes, and who is refused with what."""

import asyncio
from typing import Any

import pytest

from posthouse.errors import InvalidInput
from posthouse.mailbox import MailTransportError, UnsupportedMailOperation
from posthouse.testing.fake_mailbox import BINDING
from posthouse.testing.gateway_with_mailbox import House, Opened

_WHOSE = {
    "schema_version": 1,
    "transport": "filesystem",
    "principal_id": "HOUMAO-gpu",
    "address": "gpu@houmao.localhost",
}
_REF = "filesystem:msg-20260319T080000Z-00000000000000000000000000000001"


def _message(**changes: Any) -> dict[str, Any]:
    return {
        "message_ref": _REF,
        "thread_ref": _REF,
        "created_at_utc": "2026-03-19T08:00:01Z",
        "subject": "hello",
        "read": False,
        "answered": False,
        "archived": False,
        "box": "inbox",
        "unread": True,
        "body_preview": "the body",
        "body_text": "the body",
        "sender": {"address": "a@houmao.localhost", "display_name": None, "principal_id": None},
        "to": [{"address": "gpu@houmao.localhost", "display_name": None, "principal_id": None}],
        "cc": [],
        "reply_to": [],
        "attachments": [],
        "notify_block": None,
        "notify_auth": None,
        **changes,
    }


async def _asked(house: House, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    answer = await house.ask("GET" if body is None else "POST", path, body)
    return answer.status, answer.body


def test_reading_routes_answer_the_contract_s_fields(house: Opened) -> None:
    """Status, list, peek and read have exactly the fields of the contract; only read marks read."""

    async def ask() -> list[tuple[int, Any]]:
        async with house() as there:
            there.mailbox.receive("hello", body="the body")
            return [
                await _asked(there, "/v1/mail/status"),
                await _asked(there, "/v1/mail/list", {"read_state": "unread"}),
                await _asked(there, "/v1/mail/peek", {"message_ref": _REF}),
                await _asked(there, "/v1/mail/read", {"message_ref": _REF}),
                await _asked(there, "/v1/mail/list", {"include_body": True}),
            ]

    read = _message(read=True, unread=False)
    counts = {"box": "inbox", "message_count": 1, "open_count": 1}
    assert asyncio.run(ask()) == [
        (200, {**_WHOSE, "bindings_version": BINDING.bindings_version}),
        (200, {**_WHOSE, **counts, "unread_count": 1, "messages": [_message(body_text=None)]}),
        (200, {**_WHOSE, "operation": "peek", "message": _message()}),
        (200, {**_WHOSE, "operation": "read", "message": read}),
        (200, {**_WHOSE, **counts, "unread_count": 0, "messages": [read]}),
    ]


def test_lifecycle_routes_answer_the_messages_they_changed(house: Opened) -> None:
    """Mark, move and archive answer with the messages as they are then."""

    async def ask() -> list[tuple[int, Any]]:
        async with house() as there:
            there.mailbox.receive("hello", body="the body")
            return [
                await _asked(there, "/v1/mail/mark", {"message_refs": [_REF], "answered": True}),
                await _asked(there, "/v1/mail/move", {"message_refs": [_REF], "destination_box": "later"}),
                await _asked(there, "/v1/mail/archive", {"message_refs": [_REF]}),
            ]

    expected = [
        {
            **_WHOSE,
            "operation": operation,
            "message_count": 1,
            "messages": [_message(answered=True, **changes)],
        }
        for operation, changes in (
            ("mark", {}),
            ("move", {"box": "later"}),
            ("archive", {"box": "archive", "archived": True}),
        )
    ]
    assert asyncio.run(ask()) == [(200, answer) for answer in expected]


def test_new_mail_is_answered_whole_and_told(house: Opened) -> None:
    """Send answers with the message, and the journal tells of it without its words."""

    async def ask() -> tuple[tuple[int, Any], str]:
        async with house() as there:
            body = {
                "to": ["b@houmao.localhost"],
                "subject": "hello",
                "body_content": "the body",
                "notify_block": {"text": "x" * 600, "placement": "prepend"},
                "notify_auth": {"scheme": "none", "token": "t"},
            }
            sent = await _asked(there, "/v1/mail/send", body)
            return sent, (there.session.gateway_root / "events.jsonl").read_text()

    (status, answer), events = asyncio.run(ask())
    assert (status, answer["operation"], answer["message"]["body_text"]) == (200, "send", "the body")
    assert answer["message"]["notify_block"] == {"text": "x" * 511 + "…", "placement": "prepend"}
    assert answer["message"]["notify_auth"] == {
        "scheme": "none",
        "token": "t",
        "iss": None,
        "iat": None,
        "exp": None,
    }
    assert '"kind":"mail_delivered"' in events
    assert "the body" not in events


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("send", {"to": [], "subject": "s", "body_content": "b"}),
        ("send", {"to": ["a@b"], "subject": " ", "body_content": "b"}),
        ("send", {"to": ["a@b"], "subject": "s", "body_content": "\0"}),
        ("send", {"to": ["a@b"], "subject": "s", "body_content": "b", "bcc": []}),
        ("send", {"to": ["a@b"], "subject": "s", "body_content": "b", "notify_block": {"text": " "}}),
        ("post", {"subject": "s", "body_content": "b", "reply_policy": "all"}),
        ("reply", {"body_content": "b"}),
        ("mark", {"message_refs": [_REF]}),
        ("mark", {"message_refs": [_REF, _REF], "read": True}),
        ("move", {"message_refs": [], "destination_box": "x"}),
        ("list", {"limit": 0}),
        ("list", {"since": "yesterday"}),
        ("list", {"archived": 1}),
        ("peek", {"message_ref": " "}),
    ],
)
def test_malformed_requests_are_422(house: Opened, path: str, body: dict[str, Any]) -> None:
    """What breaks the contract's shape is refused field by field."""

    async def ask() -> tuple[int, Any]:
        async with house() as there:
            return await _asked(there, f"/v1/mail/{path}", body)

    status, answer = asyncio.run(ask())
    assert (status, type(answer["detail"])) == (422, list)


def test_other_auth_schemes_say_that_no_verifier_exists(house: Opened) -> None:
    """A scheme that nobody can check yet is refused in the contract's words."""

    async def ask() -> tuple[int, Any]:
        async with house() as there:
            body = {"to": ["a@b"], "subject": "s", "body_content": "b", "notify_auth": {"scheme": "jws"}}
            return await _asked(there, "/v1/mail/send", body)

    status, answer = asyncio.run(ask())
    assert status == 422
    assert "verifier not yet supported" in answer["detail"][0]["msg"]


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (MailTransportError("the disk is full"), 502),
        (InvalidInput("there is no such file", code="bad_attachment"), 422),
        (UnsupportedMailOperation("not with this transport"), 422),
    ],
)
def test_what_the_mailbox_says_has_its_status(house: Opened, failure: Exception, status: int) -> None:
    """Trouble of storage is 502; what the caller can change is 422."""

    async def ask() -> tuple[int, Any]:
        async with house() as there:
            there.mailbox.failure = failure
            return await _asked(there, "/v1/mail/list", {})

    assert asyncio.run(ask()) == (status, {"detail": str(failure)})


def test_an_unknown_message_is_404(house: Opened) -> None:
    """A reference that the mailbox does not know is not found."""

    async def ask() -> tuple[int, Any]:
        async with house() as there:
            return await _asked(there, "/v1/mail/peek", {"message_ref": "filesystem:none"})

    assert asyncio.run(ask())[0] == 404


def test_mail_is_for_loopback_alone_and_checked_first(house: Opened) -> None:
    """A gateway on 0.0.0.0 refuses mail with 503, even without a mailbox; its notifier is served."""

    async def ask() -> list[int]:
        async with house(host="0.0.0.0", bound=None) as there:
            mail = await _asked(there, "/v1/mail/status")
            notifier = await _asked(there, "/v1/mail-notifier")
            return [mail[0], notifier[0]]

    assert asyncio.run(ask()) == [503, 200]


def test_without_a_mailbox_it_is_422(house: Opened) -> None:
    """A session that is bound to no mailbox says how to get one."""

    async def ask() -> tuple[int, Any]:
        async with house(bound=None) as there:
            return await _asked(there, "/v1/mail/status")

    status, answer = asyncio.run(ask())
    assert status == 422
    assert "mailbox register" in answer["detail"]


def test_slow_storage_slows_nobody_else(house: Opened) -> None:
    """While the mailbox hangs, the status is answered, and so are prompts; later the mail is too."""

    async def ask() -> tuple[bool, int, int]:
        async with house() as there:
            there.mailbox.hang()
            mail = asyncio.create_task(_asked(there, "/v1/mail/list", {}))
            status = await _asked(there, "/v1/status")
            prompt = {"kind": "submit_prompt", "payload": {"prompt": "hi"}}
            accepted = await _asked(there, "/v1/requests", prompt)
            was_waiting = not mail.done()
            there.mailbox.let_go()
            return was_waiting, status[0] + accepted[0], (await mail)[0]

    assert asyncio.run(ask()) == (True, 200 + 202, 200)


def test_mail_does_not_wait_for_the_slot(house: Opened) -> None:
    """While the agent works, mail is sent and read."""

    async def ask() -> int:
        async with house() as there:
            there.agent.hold()
            await _asked(there, "/v1/requests", {"kind": "submit_prompt", "payload": {"prompt": "hi"}})
            while not there.agent.received:
                await asyncio.sleep(0.005)
            status, _ = await _asked(there, "/v1/mail/post", {"subject": "s", "body_content": "b"})
            there.agent.let_go()
            return status

    assert asyncio.run(ask()) == 200
