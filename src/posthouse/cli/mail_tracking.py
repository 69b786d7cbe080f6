"""Delivery progress of a sent message, from the mailboxes and the gateways of its receivers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.cli import gateways, mailboxes, turns
from posthouse.cli.context import Call
from posthouse.errors import PosthouseError
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.mailbox import DeliveryStatus

_NO_OWNER = "no agent of this registry has that address"
_NO_GATEWAY = "no gateway is attached to it, so it is not woken for mail"
_SHOWN = ("step", "reason", "first_notified_at_utc", "last_notified_at_utc", "wake_count")


def progress(call: Call) -> dict[str, Any]:
    """Every receiver of the message, with the step it has reached.

    Raises:
        MessageNotFound: The agent did not send it.
    """
    session = turns.session_of(call.agent())
    message_ref = call.arguments.message_ref
    facade = mailboxes.open_mailbox(mailboxes.binding_of(session, call.prog))
    try:
        receptions = facade.transport.delivery_status(message_ref)
    finally:
        facade.transport.close()
    owners = _owners(call)
    return {
        "schema_version": 1,
        "operation": "track",
        "message_ref": message_ref,
        "receivers": [
            _receiver(call, one, owners.get(one.receiver.address), message_ref) for one in receptions
        ],
    }


def _owners(call: Call) -> dict[str, Session]:
    """The agents of this registry by mail address."""
    owners: dict[str, Session] = {}
    for record in call.wiring.registry.records():
        if record.mailbox is None:
            continue
        try:
            owners[record.mailbox.address] = sessions.read(Path(record.runtime.manifest_path))
        except PosthouseError:
            continue  # its session is gone, so it does not own the address
    return owners


def _receiver(
    call: Call, reception: "DeliveryStatus", owner: Session | None, message_ref: str
) -> dict[str, Any]:
    client = None if owner is None else gateways.client_of(call.wiring, owner)
    if client is None:
        return _from_mailbox(reception, _NO_OWNER if owner is None else _NO_GATEWAY)
    try:
        answer = client.mail("progress", {"message_ref": message_ref})
    except PosthouseError as error:
        return _from_mailbox(reception, str(error))
    return {"address": reception.receiver.address, **{name: answer[name] for name in _SHOWN}}


def _from_mailbox(reception: "DeliveryStatus", reason: str) -> dict[str, Any]:
    """The progress shown by the mailbox alone; *reason* is why the gateway adds nothing."""
    step = "answered" if reception.answered else "read" if reception.read else "waiting"
    return {
        "address": reception.receiver.address,
        "step": "unknown" if reception.read is None else step,
        "reason": reason if step == "waiting" else None,
        "first_notified_at_utc": None,
        "last_notified_at_utc": None,
        "wake_count": 0,
    }
