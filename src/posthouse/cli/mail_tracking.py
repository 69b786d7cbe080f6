"""How far a sent message has come: what mailboxes show, and what the receivers' gateways know beside."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.cli import gateways, mailboxes, turns
from posthouse.cli.context import Call
from posthouse.errors import PosthouseError
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session

if TYPE_CHECKING:
    from posthouse.mailbox import Reception

_NOBODY = "no agent of this registry has that address"
_NO_GATEWAY = "no gateway is attached to it, so nobody wakes it for its mail"
_SHOWN = ("step", "reason", "first_notified_at_utc", "last_notified_at_utc", "wake_count")


def progress(call: Call) -> dict[str, Any]:
    """Every receiver of the message with the step it has reached there.

    Raises:
        MessageNotFound: The agent never sent it.
    """
    found = turns.session_of(call.agent())
    message_ref = call.arguments.message_ref
    facade = mailboxes.opened(mailboxes.binding_of(found, call.prog))
    try:
        receptions = facade.transport.receptions(message_ref)
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
    """Which agents of this registry have which addresses."""
    owners: dict[str, Session] = {}
    for record in call.wiring.registry.records():
        if record.mailbox is None:
            continue
        try:
            owners[record.mailbox.address] = sessions.read(Path(record.runtime.manifest_path))
        except PosthouseError:
            continue  # its session is gone: then nobody of this registry has the address
    return owners


def _receiver(call: Call, seen: "Reception", owner: Session | None, message_ref: str) -> dict[str, Any]:
    client = None if owner is None else gateways.client_of(call.wiring, owner)
    if client is None:
        return _of_mailbox(seen, _NOBODY if owner is None else _NO_GATEWAY)
    try:
        answer = client.mail("progress", {"message_ref": message_ref})
    except PosthouseError as error:
        return _of_mailbox(seen, str(error))
    return {"address": seen.receiver.address, **{name: answer[name] for name in _SHOWN}}


def _of_mailbox(seen: "Reception", reason: str) -> dict[str, Any]:
    """What the mailbox alone shows; *reason* is why nobody can say more."""
    step = "answered" if seen.answered else "read" if seen.read else "waiting"
    return {
        "address": seen.receiver.address,
        "step": "unknown" if seen.read is None else step,
        "reason": reason if step == "waiting" else None,
        "first_notified_at_utc": None,
        "last_notified_at_utc": None,
        "wake_count": 0,
    }
