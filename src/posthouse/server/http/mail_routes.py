"""The routes of an agent's mail: the server checks for a mailbox, the gateway handles the request."""

from collections.abc import Mapping

from pydantic import BaseModel

from posthouse.contracts import gateway_mail_http as wire
from posthouse.contracts import gateway_notifier_http as notifier
from posthouse.contracts.managed_agents_http import Ambiguous
from posthouse.contracts.managed_mail_http import ResolvedMail
from posthouse.server.http import forwarding
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import ServerService
from posthouse.web.route import Route, RouteInput

_MAIL = f"{AGENT}/mail"
_NO_MAIL = {503: "The agent has no mailbox.", 502: "Mail storage failed or timed out."}
#: Read-only operations that use POST.
_READ_ONLY = ("list", "peek", "thread", "search", "progress")
_NO_MESSAGE = {**_NO_MAIL, 404: "The message does not exist."}


async def resolve_live_mail(server: ServerService, inputs: RouteInput) -> ResolvedMail:
    return await server.mail.resolve(server.member(inputs.path_params["agent_ref"]))


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
        scope="read" if verb in _READ_ONLY else None,
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
        summary="The agent's mailbox and the live gateway that serves it.",
        handler=resolve_live_mail,
        response=ResolvedMail,
        refusals={**FINDING, 503: "The agent has no usable mailbox or no live gateway."},
        refusal=Ambiguous,
    ),
    _route(
        "GET",
        "status",
        "Identity and binding of the agent's mailbox.",
        wire.MailStatus,
        own={**_NO_MAIL, 422: "The agent's mailbox is unusable."},
    ),
    _post("list", "Messages of one box, newest first.", wire.ListMail, wire.MailList, _NO_MAIL),
    _post("peek", "One message, without marking it read.", wire.MessageSelector, wire.MailMessage),
    _post("read", "One message, marked read.", wire.MessageSelector, wire.MailMessage),
    _post(
        "send",
        "Send a message. The response means that it is delivered to all recipients.",
        wire.SendMail,
        wire.MailAction,
        _NO_MAIL,
    ),
    _post(
        "post",
        "Put an operator note into the agent's mailbox.",
        wire.PostMail,
        wire.MailAction,
        _NO_MAIL,
    ),
    _post("reply", "Reply to a message.", wire.ReplyMail, wire.MailAction),
    _post("mark", "Set read, answered and archived flags of messages.", wire.MarkMail, wire.MailLifecycle),
    _post("move", "Move messages to another box.", wire.MoveMail, wire.MailLifecycle),
    _post("archive", "Archive messages.", wire.ArchiveMail, wire.MailLifecycle),
    _post("thread", "One conversation, oldest first.", wire.ThreadMail, wire.MailThread),
    _post("search", "Messages that contain all the words.", wire.SearchMail, wire.MailSearchResult, _NO_MAIL),
    _post(
        "progress",
        "Progress of a message: waiting, notified, read or answered, and what holds it.",
        notifier.AskProgress,
        notifier.MailProgress,
    ),
)
