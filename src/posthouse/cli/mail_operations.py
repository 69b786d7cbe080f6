"""One mail operation of a command: which way it goes, and how sure its result is.

With a live gateway the gateway does it; without one it is done from here. Both are verified results. Only
where neither can reach the mailbox is a running TUI asked to do it itself, and that proves nothing.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.cli import gateways, mailboxes, turns
from posthouse.cli.context import Call
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient
    from posthouse.gateway.mail.facade import Facade
    from posthouse.mailbox import Enclosure, NotifyBlock

_MAIL_SECONDS = 30.0

Order = Mapping[str, Any]


def run(call: Call, verb: str, order: Order, *, operation: str | None = None) -> dict[str, Any]:
    """Do *operation* (the contract's name of *verb*) and return its result in the manager's shape.

    Raises:
        NoMailbox: The agent has none.
        PosthouseError: The mailbox said no, or can't be reached by anybody.
    """
    operation = operation or verb
    if call.asks_server:
        return _through_server(call, verb, operation, order)
    found = turns.session_of(call.agent())
    binding = mailboxes.binding_of(found, call.prog)
    from posthouse.mailbox import MailboxUnusable, UnsupportedMail
    from posthouse.mailbox.transports import is_supported

    client = _client(call, found) if is_supported(binding) else None
    if client is not None:
        return _verified(verb, "gateway_backed", client.mail(operation, order))
    try:
        facade = mailboxes.opened(binding)
    except (MailboxUnusable, UnsupportedMail):
        if found.manifest.is_headless:
            raise
        from posthouse.cli import mail_prompt

        return mail_prompt.submit(call.wiring, found, binding, verb, order)
    try:
        return _verified(verb, "manager_direct", _DIRECT[operation](facade, order))
    finally:
        facade.transport.close()


def directly(call: Call, work: "Callable[[Facade], dict[str, Any]]", verb: str) -> dict[str, Any]:
    """Do something that only this machine can do: it needs the mailbox itself, and no gateway."""
    found = turns.session_of(call.agent())
    facade = mailboxes.opened(mailboxes.binding_of(found, call.prog))
    try:
        return _verified(verb, "manager_direct", work(facade))
    finally:
        facade.transport.close()


def _client(call: Call, found: Session) -> "GatewayClient | None":
    """The gateway that serves the agent's mail, if one does: those beyond loopback do not."""
    instance = gateways.process_of(found)
    if instance is None or instance.host != "127.0.0.1":
        return None
    from posthouse.clients.gateway import GatewayClient

    return GatewayClient(
        instance.host,
        instance.port,
        timeout_seconds=_MAIL_SECONDS,
        respect_proxy=call.wiring.respects_proxy,
    )


def _through_server(call: Call, verb: str, operation: str, order: Order) -> dict[str, Any]:
    gateway = call.server(timeout_seconds=_MAIL_SECONDS).gateway(call.selection.value)
    return _verified(verb, "gateway_backed", gateway.mail(operation, order))


def _verified(verb: str, path: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **answer,
        "schema_version": 1,
        "operation": verb,
        "authoritative": True,
        "status": "verified",
        "execution_path": path,
    }


def _list(facade: "Facade", order: Order) -> dict[str, Any]:
    from posthouse.mailbox import Filter

    return facade.list(Filter(**order))


def _send(facade: "Facade", order: Order) -> dict[str, Any]:
    from posthouse.mailbox import Draft

    return facade.send(
        Draft(to=tuple(order["to"]), cc=tuple(order["cc"]), subject=order["subject"], **_composed(order))
    )


def _post(facade: "Facade", order: Order) -> dict[str, Any]:
    from posthouse.mailbox import Note

    return facade.post(Note(subject=order["subject"], reply_policy=order["reply_policy"], **_composed(order)))


def _reply(facade: "Facade", order: Order) -> dict[str, Any]:
    from posthouse.mailbox import Answer

    return facade.reply(Answer(message_ref=order["message_ref"], **_composed(order)))


def _mark(facade: "Facade", order: Order) -> dict[str, Any]:
    from posthouse.mailbox import Flags

    flags = {name: order.get(name) for name in ("read", "answered", "archived")}
    return facade.mark(order["message_refs"], Flags(**flags))


def _composed(order: Order) -> dict[str, Any]:
    return {
        "body": order["body_content"],
        "enclosures": tuple(_enclosure(one) for one in order["attachments"]),
        "notify_block": _block(order.get("notify_block")),
    }


def _enclosure(given: Mapping[str, str]) -> "Enclosure":
    from posthouse.mailbox import Enclosure

    return Enclosure(path=Path(given["path"]))


def _block(given: Mapping[str, Any] | None) -> "NotifyBlock | None":
    from posthouse.mailbox import NotifyBlock

    return None if given is None else NotifyBlock(**given)


_DIRECT: "Mapping[str, Callable[[Facade, Order], dict[str, Any]]]" = {
    "status": lambda facade, order: facade.status(),
    "list": _list,
    "peek": lambda facade, order: facade.peek(order["message_ref"], box=order.get("box")),
    "read": lambda facade, order: facade.read(order["message_ref"], box=order.get("box")),
    "send": _send,
    "post": _post,
    "reply": _reply,
    "mark": _mark,
    "move": lambda facade, order: facade.move(order["message_refs"], order["destination_box"]),
    "archive": lambda facade, order: facade.archive(order["message_refs"]),
    "thread": lambda facade, order: facade.thread(order["message_ref"]),
    "search": lambda facade, order: facade.search(
        order["query"], box=order.get("box"), limit=order.get("limit", 20)
    ),
}
