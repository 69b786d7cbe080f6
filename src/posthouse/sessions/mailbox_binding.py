"""Which mailbox a session is bound to: from what somebody declares to what the manifest keeps.

The manifest's `launch_plan.mailbox` is the one durable authority. Whoever changes it gives it a new
`bindings_version`, by which everybody else notices.
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


class BadMailbox(InvalidInput):
    """The mailbox that was declared can't be had; nothing was changed."""

    code = "bad_mailbox"


class Declared(strict.Strict, frozen=True, kw_only=True):
    """A mailbox as a brain manifest or a command line declares it; what is None is derived."""

    transport: TransportName
    principal_id: strict.NonBlank | None = None
    address: strict.NonBlank | None = None
    filesystem_root: strict.NonBlank | None = None
    #: Of filesystem: an own folder outside the root, which the root links to.
    mailbox_path: strict.NonBlank | None = None
    #: Of stalwart: either the base, or both of the others.
    base_url: strict.NonBlank | None = None
    jmap_url: strict.NonBlank | None = None
    management_url: strict.NonBlank | None = None
    login_identity: strict.NonBlank | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose mailbox it will be."""

    agent_name: str
    #: Where mail lies when nobody says otherwise.
    default_root: Path
    working_directory: Path


def declared(payload: Mapping[str, Any]) -> Declared:
    """Read the declarative payload.

    Raises:
        BadMailbox: It is not one; the message names the field.
    """
    try:
        return strict.convert(payload, Declared)
    except ValueError as error:
        raise BadMailbox(f"the declared mailbox can't be used: {error}") from error


def resolve(wish: Declared, owner: Owner, *, moment: datetime) -> m.Mailbox:
    """The binding that *wish* comes to for *owner*. Pure.

    Raises:
        BadMailbox, BadAddress: It contradicts itself, or names what can't be named.
    """
    address = mail_address.check(wish.address or mail_address.default_address(owner.agent_name))
    principal = wish.principal_id or mail_address.default_principal(owner.agent_name)
    if mail_address.is_reserved(address):
        raise BadMailbox(f"address {address} is reserved: names that start so are the system's own")
    version = version_at(moment)
    if wish.transport == "filesystem":
        return _filesystem(wish, owner, principal=principal, address=address, version=version)
    return _stalwart(wish, principal=principal, address=address, version=version)


def version_at(moment: datetime) -> str:
    """`2026-03-13T09:15:30.123456Z`."""
    return clock.iso_micros(moment).replace("+00:00", "Z")


def bind(session: Session, binding: m.Mailbox | None, registry: Registry) -> Session:
    """Write *binding*, or its absence, into the manifest and then into the agent's record.

    Killed in between, the record is old: it is a locator, and the next change writes it.
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
                lambda record: structs.replace(record, mailbox=located(binding)),
            )
    return changed


def located(binding: m.Mailbox | None) -> r.FilesystemMailbox | r.StalwartMailbox | None:
    """*binding* as the registry record shows it."""
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
    wish: Declared, owner: Owner, *, principal: str, address: str, version: str
) -> m.FilesystemMailbox:
    if wish.base_url or wish.jmap_url or wish.management_url or wish.login_identity:
        raise BadMailbox("base_url, jmap_url, management_url and login_identity are for transport stalwart")
    root = _absolute(wish.filesystem_root, owner) or owner.default_root
    own = _absolute(wish.mailbox_path, owner)
    return m.FilesystemMailbox(
        principal_id=principal,
        address=address,
        bindings_version=version,
        filesystem_root=str(root),
        mailbox_kind="symlink" if own else "in_root",
        mailbox_path=str(own or root / "mailboxes" / address),
    )


def _stalwart(wish: Declared, *, principal: str, address: str, version: str) -> m.StalwartMailbox:
    if wish.filesystem_root or wish.mailbox_path:
        raise BadMailbox("filesystem_root and mailbox_path are for transport filesystem")
    jmap, management = wish.jmap_url, wish.management_url
    if wish.base_url is not None:
        base = wish.base_url.rstrip("/")
        jmap, management = jmap or f"{base}/jmap", management or f"{base}/api"
    if jmap is None or management is None:
        raise BadMailbox("transport stalwart needs base_url, or jmap_url and management_url")
    return m.StalwartMailbox(
        principal_id=principal,
        address=address,
        bindings_version=version,
        jmap_url=jmap,
        management_url=management,
        login_identity=wish.login_identity or address,
        credential_ref=credential_ref(jmap, address),
    )


def credential_ref(jmap_url: str, address: str) -> str:
    """The name under which the password of *address* is kept; says nothing of the password."""
    import hashlib  # OpenSSL is slow to load, and only this transport needs it

    safe = address.replace("@", "-at-").replace(".", "-")
    digest = hashlib.sha256("\n".join((jmap_url, address)).encode()).hexdigest()
    return f"stalwart-{safe}-{digest[:16]}"


def _absolute(text: str | None, owner: Owner) -> Path | None:
    return None if text is None else (owner.working_directory / Path(text).expanduser()).absolute()
