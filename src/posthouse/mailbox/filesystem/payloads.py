"""Implements the scripts of a root: a payload in, one JSON line out."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from posthouse.contracts import mail_address, mail_document, mail_reading
from posthouse.contracts.mail_document import Document
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.mailbox import front_matter
from posthouse.mailbox.filesystem import (
    databases,
    delivery,
    open_root,
    reading,
    register_mailbox,
    registration,
    state,
)
from posthouse.mailbox.filesystem import repair as repairing
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.register_mailbox import Registered
from posthouse.mailbox.filesystem.registration import Registration, RegistrationRequest, Removal
from posthouse.mailbox.filesystem.repair import RepairReport
from posthouse.mailbox.filesystem.state import StateChange
from posthouse.mailbox.message import ARCHIVE, INBOX
from posthouse.support import clock, files, untrusted_files

Payload = Mapping[str, Any]
Result = dict[str, Any]
_MAX_PAYLOAD_BYTES = 8 << 20
_MARKS = {"read": "is_read", "answered": "is_answered", "starred": "is_starred", "deleted": "is_deleted"}


def main(operation: Callable[[Path, Payload], Result]) -> int:
    """Run one script. The exit code is 1 when the operation failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mailbox-root", type=Path, required=True)
    parser.add_argument("--payload-file", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        answer = {"ok": True, **operation(arguments.mailbox_root.absolute(), _load(arguments.payload_file))}
    except PosthouseError as error:
        answer = {"ok": False, "error": str(error)}
    sys.stdout.write(json.dumps(answer, sort_keys=True) + "\n")
    return 0 if answer["ok"] else 1


def register(path: Path, payload: Payload) -> Result:
    request = _registration_request(payload)
    return registered(request, register_mailbox.register(open_root.open_root(path), request))


def registered(request: RegistrationRequest, done: Registered) -> Result:
    """The contract's result of a registration."""
    answer: Result = {
        "mode": request.mode,
        "address": request.address,
        "active_registration_id": done.registration.registration_id,
        "owner_principal_id": request.owner_principal_id,
        "status": "active",
    }
    if done.is_reused:
        answer["reused_existing"] = True
    if done.replaced is not None:
        answer["replaced_registration_id"] = done.replaced.registration_id
    if done.stashed is not None:
        answer["stashed_registration_id"] = done.stashed.registration_id
        answer["stashed_mailbox_path"] = done.stashed.mailbox_path
    return answer


def deregister(path: Path, payload: Payload) -> Result:
    mode = _text(payload, "mode", default="deactivate")
    if mode not in ("deactivate", "purge"):
        raise _bad_payload(f"mode is {mode!r}; it is deactivate or purge")
    removal: Removal = "purge" if mode == "purge" else "deactivate"
    gone = register_mailbox.deregister(open_root.open_root(path), _text(payload, "address"), removal)
    return deregistered(removal, gone)


def deregistered(mode: Removal, gone: Registration) -> Result:
    """The contract's result of a removal."""
    status, key = ("purged", "purged") if mode == "purge" else ("inactive", "deactivated")
    return {
        "mode": mode,
        "address": gone.address,
        "target_registration_id": gone.registration_id,
        "resulting_status": status,
        f"{key}_registration_id": gone.registration_id,
    }


def deliver(path: Path, payload: Payload) -> Result:
    root = open_root.open_root(path)
    staged = _staged(root, payload)
    document = reading.load(staged)
    for name, value in mail_document.to_mapping(document).items():
        if name in payload and json.dumps(payload[name]) != json.dumps(value):
            raise _bad_payload(f"{name} differs between the payload and {staged}")
    delivery.deliver(root, staged, document)
    return {
        "message_id": document.message_id,
        "canonical_path": str(root.document(document.message_id, document.date)),
        "recipient_count": len(document.receivers),
    }


def insert_headers(path: Path, payload: Payload) -> Result:
    """Complete a staged document. The payload overrides its headers, which override generated defaults."""
    root = open_root.open_root(path)
    staged = _staged(root, payload)
    front, body = front_matter.split(untrusted_files.read_bytes(staged))
    moment = clock.now()
    message_id = mail_document.new_message_id(moment)
    given = {name: payload[name] for name in mail_document.KEYS if name in payload}
    values = {
        "protocol_version": 3,
        "message_id": message_id,
        "created_at_utc": mail_document.created_at(moment),
        **front,
        **given,
    }
    values.setdefault("thread_id", values["message_id"])
    document: Document = mail_reading.from_mapping(values, body)
    files.write_whole(staged, front_matter.encode(document), durable=True)
    return {
        "message_id": document.message_id,
        "thread_id": document.thread_id,
        "staged_message_path": str(staged),
    }


def update_state(path: Path, payload: Payload) -> Result:
    root = open_root.open_root(path)
    owner = _owner(root, _text(payload, "address"))
    listed = payload.get("message_ids", [payload.get("message_id")])
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) for one in listed):
        raise _bad_payload("message_ids is not a list of message ids")
    wanted = [reading.message_id(one) for one in listed]
    marks = {field: _flag(payload, name) for name, field in _MARKS.items()}
    archived, box = _flag(payload, "archived"), payload.get("box")
    if archived is not None:
        box = ARCHIVE if archived else INBOX
    if box is None:
        state.change(root, owner, wanted, StateChange(**marks))
    else:
        state.move(root, owner, wanted, str(box), StateChange(**marks))
    return {"address": owner.address, "message_ids": wanted, "updated_count": len(wanted)}


def repair_index(path: Path, _payload: Payload) -> Result:
    return repaired(repairing.repair(Root(path)))


def repaired(report: RepairReport) -> Result:
    return {
        "message_count": report.messages,
        "registration_count": report.registrations,
        "restored_count": report.restored,
        "forgotten_count": report.forgotten,
        "unreadable": report.unreadable,
        "set_aside": report.set_aside,
    }


def _load(path: Path) -> Payload:
    try:
        content = untrusted_files.read_bytes(path, max_bytes=_MAX_PAYLOAD_BYTES, follow=True)
        payload = untrusted_files.decode_json(content)
    except (OSError, ValueError) as error:
        raise _bad_payload(f"{path} is not a payload: {error}") from error
    if not isinstance(payload, dict):
        raise _bad_payload(f"{path} is not a JSON object")
    return payload


def _registration_request(payload: Payload) -> RegistrationRequest:
    mode, kind = _text(payload, "mode", default="safe"), _text(payload, "mailbox_kind", default="in_root")
    if mode not in ("safe", "force", "stash") or kind not in ("in_root", "symlink"):
        raise _bad_payload(f"mode {mode!r} or mailbox_kind {kind!r} is unknown")
    path = _optional(payload, "mailbox_path")
    return RegistrationRequest(
        address=_text(payload, "address"),
        owner_principal_id=_text(payload, "owner_principal_id"),
        mode="safe" if mode == "safe" else "force" if mode == "force" else "stash",
        mailbox_kind="symlink" if kind == "symlink" else "in_root",
        mailbox_path=None if path is None else Path(path),
        display_name=_optional(payload, "display_name"),
        manifest_path_hint=_optional(payload, "manifest_path_hint"),
        role=_optional(payload, "role"),
    )


def _owner(root: Root, address: str) -> Registration:
    with databases.opened(root.index) as index:
        return registration.required(index, root, mail_address.check(address))


def _staged(root: Root, payload: Payload) -> Path:
    """The file to deliver. It must be in the root's staging folder, because delivery hard-links it."""
    staged = Path(_text(payload, "staged_message_path"))
    staged = staged if staged.is_absolute() else root.staging / staged
    if staged.parent.resolve() != root.staging.resolve() or staged.is_symlink() or not staged.is_file():
        raise _bad_payload(f"staged_message_path is {staged}, which is not a file in {root.staging}")
    return root.staging / staged.name


def _text(payload: Payload, name: str, *, default: str | None = None) -> str:
    value = payload.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise _bad_payload(f"{name} is missing or not a text")
    return value


def _optional(payload: Payload, name: str) -> str | None:
    return None if payload.get(name) is None else _text(payload, name)


def _flag(payload: Payload, name: str) -> bool | None:
    value = payload.get(name)
    if value is not None and not isinstance(value, bool):
        raise _bad_payload(f"{name} is neither true nor false")
    return value


def _bad_payload(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_payload")
