"""Runs one mail operation of a command through the best available path.

The live gateway does it, or without one this process; both results are verified. If neither can reach
the mailbox, a running TUI is asked to do it, and the result is unverified.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.cli import gateways, mailboxes, turns
from posthouse.cli.context import Call
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient
    from posthouse.gateway.mail.facade import MailFacade
    from posthouse.mailbox import NotifyBlock, OutgoingAttachment

_MAIL_SECONDS = 30.0

MailRequest = Mapping[str, Any]


def run(call: Call, verb: str, request: MailRequest, *, operation: str | None = None) -> dict[str, Any]:
    """Do *operation* (the contract's name of *verb*) and return its result in the manager's shape.

    Raises:
        InvalidInput: The agent has no mailbox.
        PosthouseError: The mailbox refused the operation or is unreachable.
    """
    operation = operation or verb
    if call.asks_server:
        return _via_server(call, verb, operation, request)
    session = turns.session_of(call.agent())
    binding = mailboxes.binding_of(session, call.prog)
    from posthouse.mailbox import MailboxUnusable, UnsupportedMailOperation
    from posthouse.mailbox.transports import is_supported

    client = _mail_gateway(call, session) if is_supported(binding) else None
    if client is not None:
        return _verified(verb, "gateway_backed", client.mail(operation, request))
    try:
        facade = mailboxes.open_mailbox(binding)
    except (MailboxUnusable, UnsupportedMailOperation):
        if session.manifest.is_headless:
            raise
        from posthouse.cli import mail_prompt

        return mail_prompt.submit(call.wiring, session, binding, verb, request)
    try:
        return _verified(verb, "manager_direct", _DIRECT[operation](facade, request))
    finally:
        facade.transport.close()


def run_locally(call: Call, work: "Callable[[MailFacade], dict[str, Any]]", verb: str) -> dict[str, Any]:
    """Run *work* on the mailbox itself, without a gateway."""
    session = turns.session_of(call.agent())
    facade = mailboxes.open_mailbox(mailboxes.binding_of(session, call.prog))
    try:
        return _verified(verb, "manager_direct", work(facade))
    finally:
        facade.transport.close()


def _mail_gateway(call: Call, session: Session) -> "GatewayClient | None":
    """The gateway that serves the agent's mail, or None. Only gateways on loopback serve mail."""
    instance = gateways.live_instance(session)
    if instance is None or instance.host != "127.0.0.1":
        return None
    from posthouse.clients.gateway import GatewayClient

    return GatewayClient(
        instance.host,
        instance.port,
        timeout_seconds=_MAIL_SECONDS,
        respect_proxy=call.wiring.respects_proxy,
    )


def _via_server(call: Call, verb: str, operation: str, request: MailRequest) -> dict[str, Any]:
    gateway = call.server(timeout_seconds=_MAIL_SECONDS).gateway(call.selection.value)
    return _verified(verb, "gateway_backed", gateway.mail(operation, request))


def _verified(verb: str, path: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **answer,
        "schema_version": 1,
        "operation": verb,
        "authoritative": True,
        "status": "verified",
        "execution_path": path,
    }


def _list(facade: "MailFacade", request: MailRequest) -> dict[str, Any]:
    from posthouse.mailbox import MailFilter

    return facade.list(MailFilter(**request))


def _send(facade: "MailFacade", request: MailRequest) -> dict[str, Any]:
    from posthouse.mailbox import Draft

    return facade.send(
        Draft(
            to=tuple(request["to"]), cc=tuple(request["cc"]), subject=request["subject"], **_content(request)
        )
    )


def _post(facade: "MailFacade", request: MailRequest) -> dict[str, Any]:
    from posthouse.mailbox import OperatorNote

    return facade.post(
        OperatorNote(subject=request["subject"], reply_policy=request["reply_policy"], **_content(request))
    )


def _reply(facade: "MailFacade", request: MailRequest) -> dict[str, Any]:
    from posthouse.mailbox import ReplyDraft

    return facade.reply(ReplyDraft(message_ref=request["message_ref"], **_content(request)))


def _mark(facade: "MailFacade", request: MailRequest) -> dict[str, Any]:
    from posthouse.mailbox import Flags

    flags = {name: request.get(name) for name in ("read", "answered", "archived")}
    return facade.mark(request["message_refs"], Flags(**flags))


def _content(request: MailRequest) -> dict[str, Any]:
    return {
        "body": request["body_content"],
        "enclosures": tuple(_enclosure(one) for one in request["attachments"]),
        "notify_block": _notify_block(request.get("notify_block")),
    }


def _enclosure(given: Mapping[str, str]) -> "OutgoingAttachment":
    from posthouse.mailbox import OutgoingAttachment

    return OutgoingAttachment(path=Path(given["path"]))


def _notify_block(given: Mapping[str, Any] | None) -> "NotifyBlock | None":
    from posthouse.mailbox import NotifyBlock

    return None if given is None else NotifyBlock(**given)


_DIRECT: "Mapping[str, Callable[[MailFacade, MailRequest], dict[str, Any]]]" = {
    "status": lambda facade, request: facade.status(),
    "list": _list,
    "peek": lambda facade, request: facade.peek(request["message_ref"], box=request.get("box")),
    "read": lambda facade, request: facade.read(request["message_ref"], box=request.get("box")),
    "send": _send,
    "post": _post,
    "reply": _reply,
    "mark": _mark,
    "move": lambda facade, request: facade.move(request["message_refs"], request["destination_box"]),
    "archive": lambda facade, request: facade.archive(request["message_refs"]),
    "thread": lambda facade, request: facade.thread(request["message_ref"]),
    "search": lambda facade, request: facade.search(
        request["query"], box=request.get("box"), limit=request.get("limit", 20)
    ),
}
