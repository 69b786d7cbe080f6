"""Resolves a declared mailbox to the binding in a session's manifest.

The manifest's `launch_plan.mailbox` is the one durable authority. Every change sets a new
`bindings_version`, by which readers detect it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import structs

from posthouse.contracts import mail_address, strict
from posthouse.contracts import manifest as m
from posthouse.contracts import registry as r
from posthouse.errors import InvalidInput
from posthouse.sessions import session as sessions
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import clock

TransportName = Literal["filesystem", "stalwart"]


class MailboxDeclaration(strict.Strict, frozen=True, kw_only=True):
    """A mailbox as a brain manifest or a command line declares it. None values are derived."""

    transport: TransportName
    principal_id: strict.NonBlank | None = None
    address: strict.NonBlank | None = None
    filesystem_root: strict.NonBlank | None = None
    #: filesystem: a private folder outside the root, which the root links to.
    mailbox_path: strict.NonBlank | None = None
    #: stalwart: either the base URL, or both others.
    base_url: strict.NonBlank | None = None
    jmap_url: strict.NonBlank | None = None
    management_url: strict.NonBlank | None = None
    login_identity: strict.NonBlank | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxOwner:
    """The agent that gets the mailbox."""

    agent_name: str
    #: The mailbox root when the declaration names none.
    default_root: Path
    working_directory: Path


def parse_declaration(payload: Mapping[str, Any]) -> MailboxDeclaration:
    """Parse the declarative payload.

    Raises:
        InvalidInput: The payload is invalid; the message names the field.
    """
    try:
        return strict.convert(payload, MailboxDeclaration)
    except ValueError as error:
        raise _bad_mailbox(f"the declared mailbox can't be used: {error}") from error


def resolve(declaration: MailboxDeclaration, owner: MailboxOwner, *, moment: datetime) -> m.Mailbox:
    """The binding of *declaration* for *owner*. Pure.

    Raises:
        InvalidInput: The declaration contradicts itself, or a name is invalid.
    """
    address = mail_address.check(declaration.address or mail_address.default_address(owner.agent_name))
    principal = declaration.principal_id or mail_address.default_principal(owner.agent_name)
    if mail_address.is_reserved(address):
        raise _bad_mailbox(f"address {address} is reserved for the system")
    version = version_at(moment)
    if declaration.transport == "filesystem":
        return _filesystem(declaration, owner, principal=principal, address=address, version=version)
    return _stalwart(declaration, principal=principal, address=address, version=version)


def version_at(moment: datetime) -> str:
    """`2026-03-13T09:15:30.123456Z`."""
    return clock.iso_micros(moment).replace("+00:00", "Z")


def bind(session: Session, binding: m.Mailbox | None, registry: Registry) -> Session:
    """Write *binding* (None removes it) to the manifest, then to the agent's record.

    A crash in between leaves the record outdated until the next change; the record is only a locator.
    """

    def bound(manifest: m.Manifest) -> m.Manifest:
        return structs.replace(manifest, launch_plan=structs.replace(manifest.launch_plan, mailbox=binding))

    changed = sessions.update(session, bound)
    generation = changed.manifest.registry_generation_id
    if generation is not None:
        with registry.locked(changed.agent_id):
            registry.change(
                changed.agent_id,
                generation,
                lambda record: structs.replace(record, mailbox=registry_mailbox(binding)),
            )
    return changed


def registry_mailbox(binding: m.Mailbox | None) -> r.FilesystemMailbox | r.StalwartMailbox | None:
    """*binding* in the form of the registry record."""
    if binding is None:
        return None
    if isinstance(binding, m.FilesystemMailbox):
        return r.FilesystemMailbox(
            principal_id=binding.principal_id,
            address=binding.address,
            filesystem_root=binding.filesystem_root,
            bindings_version=binding.bindings_version,
        )
    return r.StalwartMailbox(**structs.asdict(binding))


def _filesystem(
    declaration: MailboxDeclaration, owner: MailboxOwner, *, principal: str, address: str, version: str
) -> m.FilesystemMailbox:
    if (
        declaration.base_url
        or declaration.jmap_url
        or declaration.management_url
        or declaration.login_identity
    ):
        raise _bad_mailbox("base_url, jmap_url, management_url and login_identity are for transport stalwart")
    root = _absolute(declaration.filesystem_root, owner) or owner.default_root
    own = _absolute(declaration.mailbox_path, owner)
    return m.FilesystemMailbox(
        principal_id=principal,
        address=address,
        bindings_version=version,
        filesystem_root=str(root),
        mailbox_kind="symlink" if own else "in_root",
        mailbox_path=str(own or root / "mailboxes" / address),
    )


def _stalwart(
    declaration: MailboxDeclaration, *, principal: str, address: str, version: str
) -> m.StalwartMailbox:
    if declaration.filesystem_root or declaration.mailbox_path:
        raise _bad_mailbox("filesystem_root and mailbox_path are for transport filesystem")
    jmap, management = declaration.jmap_url, declaration.management_url
    if declaration.base_url is not None:
        base = declaration.base_url.rstrip("/")
        jmap, management = jmap or f"{base}/jmap", management or f"{base}/api"
    if jmap is None or management is None:
        raise _bad_mailbox("transport stalwart needs base_url, or jmap_url and management_url")
    return m.StalwartMailbox(
        principal_id=principal,
        address=address,
        bindings_version=version,
        jmap_url=jmap,
        management_url=management,
        login_identity=declaration.login_identity or address,
        credential_ref=credential_ref(jmap, address),
    )


def credential_ref(jmap_url: str, address: str) -> str:
    """The name under which the password of *address* is stored; independent of the password."""
    import hashlib  # OpenSSL is slow to load, and only this transport needs it

    safe = address.replace("@", "-at-").replace(".", "-")
    digest = hashlib.sha256("\n".join((jmap_url, address)).encode()).hexdigest()
    return f"stalwart-{safe}-{digest[:16]}"


def _absolute(text: str | None, owner: MailboxOwner) -> Path | None:
    return None if text is None else (owner.working_directory / Path(text).expanduser()).absolute()


def _bad_mailbox(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_mailbox")
