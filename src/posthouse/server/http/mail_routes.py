"""The routes of an agent's mail: its mailbox is looked for here, everything else its gateway decides."""

from collections.abc import Mapping

from pydantic import BaseModel

from posthouse.contracts import gateway_mail_http as wire
from posthouse.contracts import gateway_notifier_http as notifier
from posthouse.contracts.managed_agents_http import Ambiguous
from posthouse.contracts.managed_mail_http import ResolvedMail
from posthouse.server.http import forwarding
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import Coordination
from posthouse.web.route import Addressed, Route

_MAIL = f"{AGENT}/mail"
_NO_MAIL = {503: "The agent has no mailbox.", 502: "Storage failed, or did not answer in time."}
#: What only looks, although it is posted.
_LOOKS = ("list", "peek", "thread", "search", "progress")
_NO_MESSAGE = {**_NO_MAIL, 404: "There is no such message."}


async def resolve_live_mail(server: Coordination, asked: Addressed) -> ResolvedMail:
    return await server.mail.resolve(server.member(asked.names["agent_ref"]))


def _route(
    method: str,
    verb: str,
    summary: str,
    response: type[BaseModel],
    *,
    request: type[BaseModel] | None = None,
    own: Mapping[int, str] = _NO_MESSAGE,
) -> Route:
    return forwarding.route(
        method,
        f"mail/{verb}",
        f"/v1/mail/{verb}",
        summary,
        response=response,
        request=request,
        own=own,
        needs_mailbox=True,
        scope="read" if verb in _LOOKS else None,
    )


def _post(
    verb: str,
    summary: str,
    request: type[BaseModel],
    response: type[BaseModel],
    own: Mapping[int, str] = _NO_MESSAGE,
) -> Route:
    return _route("POST", verb, summary, response, request=request, own=own)


ROUTES = (
    Route(
        method="GET",
        path=f"{_MAIL}/resolve-live",
        summary="Where the agent's mailbox lies, and the gateway that serves it.",
        handler=resolve_live_mail,
        response=ResolvedMail,
        refusals={**FINDING, 503: "The agent has no mailbox that can be used, or no live gateway."},
        refusal=Ambiguous,
    ),
    _route(
        "GET",
        "status",
        "Which mailbox the agent has.",
        wire.MailStatus,
        own={**_NO_MAIL, 422: "The agent's mailbox can't be used."},
    ),
    _post("list", "Messages of one box, newest first.", wire.ListMail, wire.MailList, _NO_MAIL),
    _post("peek", "One message; it stays unread.", wire.OneMail, wire.MailMessage),
    _post("read", "One message, which is read from now on.", wire.OneMail, wire.MailMessage),
    _post(
        "send",
        "Send a message. The answer means that everybody has it.",
        wire.SendMail,
        wire.MailAction,
        _NO_MAIL,
    ),
    _post(
        "post",
        "Leave a note of the operator in the agent's mailbox.",
        wire.PostMail,
        wire.MailAction,
        _NO_MAIL,
    ),
    _post("reply", "Answer a message.", wire.ReplyMail, wire.MailAction),
    _post("mark", "Change what is known of messages.", wire.MarkMail, wire.MailLifecycle),
    _post("move", "Put messages into another box.", wire.MoveMail, wire.MailLifecycle),
    _post("archive", "Put messages into the archive.", wire.ArchiveMail, wire.MailLifecycle),
    _post("thread", "One conversation, oldest first.", wire.ThreadMail, wire.MailThread),
    _post("search", "Messages that hold all the words.", wire.SearchMail, wire.MailFound, _NO_MAIL),
    _post(
        "progress",
        "How far a message has come: waiting, notified, read or answered, and why no further.",
        notifier.AskProgress,
        notifier.MailProgress,
    ),
)
