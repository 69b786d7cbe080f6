"""Strict parser from untrusted front matter to a document."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from posthouse.contracts import mail_address, mail_notice, names
from posthouse.contracts.mail_document import (
    KEYS,
    MESSAGE_ID,
    BadDocument,
    Document,
    DocumentAttachment,
    Participant,
    created_at,
)
from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock, Placement
from posthouse.support import clock

_CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
#: Each receiver's folder is locked and written.
MAX_PARTICIPANTS = 500
_MAX_REFERENCES = 1000
_MAX_ATTACHMENTS = 100
_MAX_HEADERS = 100
#: YAML readers refuse longer keys.
_MAX_KEY_CHARS = 200

_KNOWN = frozenset(KEYS)
_REQUIRED = ("protocol_version", "message_id", "thread_id", "created_at_utc", "from", "to", "subject")


def from_mapping(front: dict[str, Any], body: str) -> Document:
    """Read front matter strictly.

    Raises:
        BadDocument: A field is missing, unknown, or breaks a rule.
    """
    _keys(front, _KNOWN, _REQUIRED, "the front matter")
    if front["protocol_version"] != names.MAIL_PROTOCOL or isinstance(front["protocol_version"], bool):
        raise BadDocument(
            f"protocol_version is {front['protocol_version']!r}; only {names.MAIL_PROTOCOL} is read"
        )
    if "\0" in body:
        raise BadDocument("the body holds a NUL")
    document = Document(
        message_id=_message_id(front["message_id"], "message_id"),
        thread_id=_message_id(front["thread_id"], "thread_id"),
        created_at_utc=_created(front["created_at_utc"]),
        sender=_participant(front["from"], "from"),
        to=_participants(front["to"], "to"),
        subject=_text(front["subject"], "subject").strip(),
        body=body,
        in_reply_to=_optional_id(front.get("in_reply_to")),
        references=tuple(
            _message_id(one, "references") for one in _listed(front, "references", _MAX_REFERENCES)
        ),
        cc=_participants(front.get("cc") or [], "cc"),
        reply_to=_participants(front.get("reply_to") or [], "reply_to"),
        attachments=tuple(
            _attachment(one, f"attachments[{index}]")
            for index, one in enumerate(_listed(front, "attachments", _MAX_ATTACHMENTS))
        ),
        headers=_headers(front.get("headers")),
        notify_block=_block(front.get("notify_block")),
        notify_auth=_auth(front.get("notify_auth")),
    )
    _threading(document)
    return document


def _threading(document: Document) -> None:
    if not document.to:
        raise BadDocument("to is empty; a message needs a receiver")
    if document.in_reply_to is None:
        if document.thread_id != document.message_id or document.references:
            raise BadDocument("without in_reply_to, thread_id is the message's own and references are empty")
    elif document.references[-1:] != (document.in_reply_to,):
        raise BadDocument("the last of references is in_reply_to")


def _keys(value: Any, known: frozenset[str], required: tuple[str, ...], where: str) -> None:
    if not isinstance(value, dict):
        raise BadDocument(f"{where} is no mapping")
    for name in required:
        if value.get(name) is None:
            raise BadDocument(f"{where} has no {name}")
    if not value.keys() <= known:
        unknown = sorted(str(key)[:80] for key in value.keys() - known)
        raise BadDocument(f"{where} has an unknown field {unknown[0]!r}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadDocument(f"{where} is not a non-blank text")
    if "\0" in value:
        raise BadDocument(f"{where} holds a NUL")
    return value


def _optional(value: Any, where: str) -> str | None:
    return None if value is None else _text(value, where)


def _message_id(value: Any, where: str) -> str:
    if not isinstance(value, str) or not MESSAGE_ID.match(value):
        raise BadDocument(f"{where} is {str(value)[:80]!r}, which is no message id")
    return value


def _optional_id(value: Any) -> str | None:
    return None if value is None else _message_id(value, "in_reply_to")


def _created(value: Any) -> str:
    if not isinstance(value, str) or not value.endswith("Z"):
        raise BadDocument("created_at_utc is no UTC time ending in Z")
    try:
        moment = clock.parse(value)
    except ValueError as error:
        raise BadDocument(f"created_at_utc is {value[:40]!r}, which is no time") from error
    return value if _CREATED.match(value) else created_at(moment)


def _participants(value: Any, where: str) -> tuple[Participant, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > MAX_PARTICIPANTS:
        raise BadDocument(f"{where} is no list of at most {MAX_PARTICIPANTS} participants")
    return tuple(_participant(one, f"{where}[{index}]") for index, one in enumerate(value))


_PARTS = tuple(Participant.__dataclass_fields__)
_PARTICIPANT = frozenset(_PARTS)


def _participant(value: Any, where: str) -> Participant:
    _keys(value, _PARTICIPANT, ("principal_id", "address"), where)
    parts = tuple(value.get(name) for name in _PARTS)
    for name, part in zip(_PARTS, parts, strict=True):
        if part is not None and not isinstance(part, str):
            raise BadDocument(f"{where}.{name} is no text")
    try:
        return _known(*parts)
    except BadDocument as error:
        raise BadDocument(f"{where}.{error}") from None


@lru_cache(maxsize=4096)
def _known(*parts: str | None) -> Participant:
    """Cached, because thousands of documents name the same few participants."""
    given = dict(zip(_PARTS, parts, strict=True))
    address = given.pop("address") or ""
    if not mail_address.is_address(address):
        raise BadDocument(f"address is {address[:80]!r}, which is no address")
    principal_id = _text(given.pop("principal_id"), "principal_id")
    fields = {name: _optional(part, name) for name, part in given.items()}
    return Participant(principal_id=principal_id, address=address, **fields)


_ATTACHMENT = frozenset(DocumentAttachment.__dataclass_fields__)


def _attachment(value: Any, where: str) -> DocumentAttachment:
    _keys(value, _ATTACHMENT, ("attachment_id", "kind", "path", "media_type"), where)
    kind, path, size, digest = value["kind"], value["path"], value.get("size_bytes"), value.get("sha256")
    if kind not in ("path_ref", "managed_copy"):
        raise BadDocument(f"{where}.kind is {str(kind)[:40]!r}; it is path_ref or managed_copy")
    if kind == "path_ref" and not _text(path, f"{where}.path").startswith("/"):
        raise BadDocument(f"{where}.path is not absolute")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        raise BadDocument(f"{where}.size_bytes is no size")
    if digest is not None and (not isinstance(digest, str) or not _SHA256.match(digest)):
        raise BadDocument(f"{where}.sha256 is no lower-case SHA-256")
    return DocumentAttachment(
        attachment_id=_text(value["attachment_id"], f"{where}.attachment_id"),
        kind=kind,
        path=_text(path, f"{where}.path"),
        media_type=_text(value["media_type"], f"{where}.media_type"),
        sha256=digest,
        size_bytes=size,
        label=_optional(value.get("label"), f"{where}.label"),
    )


def _listed(front: dict[str, Any], name: str, most: int) -> list[Any]:
    value = front.get(name) or []
    if not isinstance(value, (list, tuple)) or len(value) > most:
        raise BadDocument(f"{name} is no list of at most {most}")
    return list(value)


def _headers(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > _MAX_HEADERS:
        raise BadDocument(f"headers is no mapping of at most {_MAX_HEADERS}")
    for key in value:
        if len(_text(key, "a header's name")) > _MAX_KEY_CHARS:
            raise BadDocument("a header's name is too long")
    return value


def _block(value: Any) -> NotifyBlock | None:
    if value is None:
        return None
    _keys(value, frozenset({"text", "placement"}), ("text",), "notify_block")
    placement = value.get("placement", "append")
    if placement not in mail_notice.PLACEMENTS:
        raise BadDocument(f"notify_block.placement is {str(placement)[:40]!r}; it is append or prepend")
    text = mail_notice.shortened(_text(value["text"], "notify_block.text"))
    return NotifyBlock(text=text, placement=cast("Placement", placement))


def _auth(value: Any) -> NotifyAuth | None:
    if value is None:
        return None
    _keys(value, frozenset({"scheme", "token", "iss", "iat", "exp"}), (), "notify_auth")
    scheme = value.get("scheme", "none")
    if scheme not in mail_notice.SCHEMES:
        raise BadDocument(f"notify_auth.scheme is {str(scheme)[:40]!r}, which is unknown")
    if scheme != "none":
        raise BadDocument(f"notify_auth.scheme {scheme}: verifier not yet supported")
    fields = {
        name: _optional(value.get(name), f"notify_auth.{name}") for name in ("token", "iss", "iat", "exp")
    }
    return NotifyAuth(scheme="none", **fields)
