"""The mail routes. They never wait for the agent."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from posthouse.contracts import gateway_mail_http as wire
from posthouse.gateway.mail import operations
from posthouse.gateway.mail.facade import MailFacade
from posthouse.gateway.service import Gateway
from posthouse.web.route import Route

_REFUSALS = {
    404: "The message does not exist.",
    502: "Storage failed or timed out.",
    503: "The gateway is not bound to loopback, or too many operations wait for storage.",
}
_NO_MESSAGE = {status: reason for status, reason in _REFUSALS.items() if status != 404}


async def mail_status(gateway: Gateway, _: None) -> wire.MailStatus:
    return wire.MailStatus.model_validate(await gateway.mail.mailboxes.run("status", MailFacade.status))


async def list_mail(gateway: Gateway, asked: wire.ListMail) -> wire.MailList:
    wanted = operations.filter_of(asked)
    return wire.MailList.model_validate(
        await gateway.mail.mailboxes.run("list", lambda mail: mail.list(wanted))
    )


async def peek_mail(gateway: Gateway, asked: wire.MessageSelector) -> wire.MailMessage:
    return await _message(gateway, "peek", lambda mail: mail.peek(asked.message_ref, box=asked.box))


async def read_mail(gateway: Gateway, asked: wire.MessageSelector) -> wire.MailMessage:
    return await _message(gateway, "read", lambda mail: mail.read(asked.message_ref, box=asked.box))


async def send_mail(gateway: Gateway, asked: wire.SendMail) -> wire.MailAction:
    draft = operations.draft_of(asked)
    return await _action(gateway, "send", lambda mail: mail.send(draft))


async def post_mail(gateway: Gateway, asked: wire.PostMail) -> wire.MailAction:
    note = operations.note_of(asked)
    return await _action(gateway, "post", lambda mail: mail.post(note))


async def reply_mail(gateway: Gateway, asked: wire.ReplyMail) -> wire.MailAction:
    answer = operations.answer_of(asked)
    return await _action(gateway, "reply", lambda mail: mail.reply(answer))


async def mark_mail(gateway: Gateway, asked: wire.MarkMail) -> wire.MailLifecycle:
    flags = operations.flags_of(asked)
    return await _lifecycle(gateway, "mark", lambda mail: mail.mark(asked.message_refs, flags))


async def move_mail(gateway: Gateway, asked: wire.MoveMail) -> wire.MailLifecycle:
    box = asked.destination_box
    return await _lifecycle(gateway, "move", lambda mail: mail.move(asked.message_refs, box))


async def archive_mail(gateway: Gateway, asked: wire.ArchiveMail) -> wire.MailLifecycle:
    return await _lifecycle(gateway, "archive", lambda mail: mail.archive(asked.message_refs))


async def mail_thread(gateway: Gateway, asked: wire.ThreadMail) -> wire.MailThread:
    answer = await gateway.mail.mailboxes.run("thread", lambda mail: mail.thread(asked.message_ref))
    return wire.MailThread.model_validate(answer)


async def search_mail(gateway: Gateway, asked: wire.SearchMail) -> wire.MailSearchResult:
    answer = await gateway.mail.mailboxes.run(
        "search", lambda mail: mail.search(asked.query, box=asked.box, limit=asked.limit)
    )
    return wire.MailSearchResult.model_validate(answer)


async def _message(
    gateway: Gateway, operation: str, work: Callable[[MailFacade], Mapping[str, Any]]
) -> wire.MailMessage:
    return wire.MailMessage.model_validate(await gateway.mail.mailboxes.run(operation, work))


async def _action(
    gateway: Gateway, operation: str, work: Callable[[MailFacade], Mapping[str, Any]]
) -> wire.MailAction:
    answer = wire.MailAction.model_validate(await gateway.mail.mailboxes.run(operation, work))
    gateway.mail.record_delivery(answer)
    return answer


async def _lifecycle(
    gateway: Gateway, operation: str, work: Callable[[MailFacade], Mapping[str, Any]]
) -> wire.MailLifecycle:
    return wire.MailLifecycle.model_validate(await gateway.mail.mailboxes.run(operation, work))


def _post(
    verb: str,
    summary: str,
    handler: Callable[[Gateway, Any], Any],
    request: type[BaseModel],
    response: type[BaseModel],
    refusals: Mapping[int, str] = _REFUSALS,
) -> Route:
    return Route(
        method="POST",
        path=f"/v1/mail/{verb}",
        summary=summary,
        handler=handler,
        request=TypeAdapter(request),
        response=response,
        refusals=refusals,
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/mail/status",
        summary="Identity and binding of the agent's mailbox.",
        handler=mail_status,
        response=wire.MailStatus,
        refusals={**_NO_MESSAGE, 422: "The agent has no usable mailbox."},
    ),
    _post("list", "Messages of one box, newest first.", list_mail, wire.ListMail, wire.MailList, _NO_MESSAGE),
    _post("peek", "One message, without marking it read.", peek_mail, wire.MessageSelector, wire.MailMessage),
    _post("read", "One message, marked read.", read_mail, wire.MessageSelector, wire.MailMessage),
    _post(
        "send",
        "Send a message. The response means that it is delivered to all recipients.",
        send_mail,
        wire.SendMail,
        wire.MailAction,
        _NO_MESSAGE,
    ),
    _post(
        "post",
        "Put an operator note into the agent's mailbox.",
        post_mail,
        wire.PostMail,
        wire.MailAction,
        _NO_MESSAGE,
    ),
    _post("reply", "Reply to a message.", reply_mail, wire.ReplyMail, wire.MailAction),
    _post(
        "mark",
        "Set read, answered and archived flags of messages.",
        mark_mail,
        wire.MarkMail,
        wire.MailLifecycle,
    ),
    _post("move", "Move messages to another box.", move_mail, wire.MoveMail, wire.MailLifecycle),
    _post("archive", "Archive messages.", archive_mail, wire.ArchiveMail, wire.MailLifecycle),
    _post("thread", "One conversation, oldest first.", mail_thread, wire.ThreadMail, wire.MailThread),
    _post(
        "search",
        "Messages that contain all the words.",
        search_mail,
        wire.SearchMail,
        wire.MailSearchResult,
        _NO_MESSAGE,
    ),
)
