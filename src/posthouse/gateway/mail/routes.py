"""The routes of mail. None of them waits for the agent."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from posthouse.contracts import gateway_mail_http as wire
from posthouse.gateway.mail import operations
from posthouse.gateway.mail.facade import Facade
from posthouse.gateway.service import Gateway
from posthouse.web.route import Route

_REFUSALS = {
    404: "There is no such message.",
    502: "Storage failed, or did not answer in time.",
    503: "The gateway listens beyond this machine, or too much waits for storage.",
}
_NO_MESSAGE = {status: reason for status, reason in _REFUSALS.items() if status != 404}


async def mail_status(gateway: Gateway, _: None) -> wire.MailStatus:
    return wire.MailStatus.model_validate(await gateway.mail.desk.ask("status", Facade.status))


async def list_mail(gateway: Gateway, asked: wire.ListMail) -> wire.MailList:
    wanted = operations.filter_of(asked)
    return wire.MailList.model_validate(await gateway.mail.desk.ask("list", lambda mail: mail.list(wanted)))


async def peek_mail(gateway: Gateway, asked: wire.OneMail) -> wire.MailMessage:
    return await _message(gateway, "peek", lambda mail: mail.peek(asked.message_ref, box=asked.box))


async def read_mail(gateway: Gateway, asked: wire.OneMail) -> wire.MailMessage:
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
    answer = await gateway.mail.desk.ask("thread", lambda mail: mail.thread(asked.message_ref))
    return wire.MailThread.model_validate(answer)


async def search_mail(gateway: Gateway, asked: wire.SearchMail) -> wire.MailFound:
    answer = await gateway.mail.desk.ask(
        "search", lambda mail: mail.search(asked.query, box=asked.box, limit=asked.limit)
    )
    return wire.MailFound.model_validate(answer)


async def _message(
    gateway: Gateway, operation: str, work: Callable[[Facade], Mapping[str, Any]]
) -> wire.MailMessage:
    return wire.MailMessage.model_validate(await gateway.mail.desk.ask(operation, work))


async def _action(
    gateway: Gateway, operation: str, work: Callable[[Facade], Mapping[str, Any]]
) -> wire.MailAction:
    answer = wire.MailAction.model_validate(await gateway.mail.desk.ask(operation, work))
    gateway.mail.delivered(answer)
    return answer


async def _lifecycle(
    gateway: Gateway, operation: str, work: Callable[[Facade], Mapping[str, Any]]
) -> wire.MailLifecycle:
    return wire.MailLifecycle.model_validate(await gateway.mail.desk.ask(operation, work))


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
        summary="Which mailbox the agent has.",
        handler=mail_status,
        response=wire.MailStatus,
        refusals={**_NO_MESSAGE, 422: "The agent has no mailbox that can be used."},
    ),
    _post("list", "Messages of one box, newest first.", list_mail, wire.ListMail, wire.MailList, _NO_MESSAGE),
    _post("peek", "One message; it stays unread.", peek_mail, wire.OneMail, wire.MailMessage),
    _post("read", "One message, which is read from now on.", read_mail, wire.OneMail, wire.MailMessage),
    _post(
        "send",
        "Send a message. The answer means that everybody has it.",
        send_mail,
        wire.SendMail,
        wire.MailAction,
        _NO_MESSAGE,
    ),
    _post(
        "post",
        "Leave a note of the operator in the agent's mailbox.",
        post_mail,
        wire.PostMail,
        wire.MailAction,
        _NO_MESSAGE,
    ),
    _post("reply", "Answer a message.", reply_mail, wire.ReplyMail, wire.MailAction),
    _post("mark", "Change what is known of messages.", mark_mail, wire.MarkMail, wire.MailLifecycle),
    _post("move", "Put messages into another box.", move_mail, wire.MoveMail, wire.MailLifecycle),
    _post("archive", "Put messages into the archive.", archive_mail, wire.ArchiveMail, wire.MailLifecycle),
    _post("thread", "One conversation, oldest first.", mail_thread, wire.ThreadMail, wire.MailThread),
    _post(
        "search",
        "Messages that hold all the words.",
        search_mail,
        wire.SearchMail,
        wire.MailFound,
        _NO_MESSAGE,
    ),
)
