"""Registers and deregisters the mailbox of an address."""

import dataclasses
import shutil
import sqlite3
from pathlib import Path

from posthouse.contracts import mail_address, names
from posthouse.errors import Conflict, InvalidInput
from posthouse.mailbox.filesystem import databases, folders, locks
from posthouse.mailbox.filesystem.databases import run
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import (
    OPERATOR,
    NotRegistered,
    Registration,
    RegistrationRequest,
    Removal,
    active,
    of_address,
)
from posthouse.support import clock, crashpoints, ids


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """Result of a registration."""

    registration: Registration
    is_reused: bool = False
    replaced: Registration | None = None
    stashed: Registration | None = None


def register(root: Root, request: RegistrationRequest) -> Registered:
    """Register a mailbox for an address.

    `safe` reuses the current or former one; `force` deletes it first; `stash` moves it aside.

    Raises:
        InvalidInput: The address or the request is invalid.
        Conflict: In mode `safe`, the address has another owner or folder, or the folder is another mailbox.
    """
    request = _checked(root, request)
    with locks.hold(root, [request.address], index=True), databases.opened(root.index) as index:
        _check_folder_free(index, request)
        if request.mode == "safe":
            return _safely(root, index, request)
        old = active(index, request.address)
        if old is None:
            return Registered(registration=_create(root, index, request))
        return (
            _replace(root, index, request, old)
            if request.mode == "force"
            else _stash(root, index, request, old)
        )


def ensure_operator(root: Root) -> Registration:
    """The operator's mailbox, created if missing."""
    with databases.opened(root.index) as index:
        found = active(index, mail_address.OPERATOR_ADDRESS)
    if found is not None and folders.is_whole(found.folder):
        return found
    return register(root, OPERATOR).registration


def deregister(root: Root, address: str, removal: Removal) -> Registration:
    """Deactivate or purge the mailbox of *address*. Messages stay in the root in both cases.

    Raises:
        NotRegistered: The address has no mailbox.
        InvalidInput: It is the operator's address.
    """
    if mail_address.check(address) == mail_address.OPERATOR_ADDRESS:
        raise _bad_registration(f"{address} is the operator's and stays")
    with locks.hold(root, [address], index=True), databases.opened(root.index) as index:
        known = of_address(index, address)
        found = next((one for one in known if one.status == "active"), None)
        if found is None and removal == "purge":
            found = next((one for one in known if one.status == "inactive"), None)
        if found is None:
            raise NotRegistered(f"no mailbox is active for {address} in {root.path}")
        if removal == "deactivate":
            with databases.transaction(index):
                run(index, "deactivate", registration_id=found.registration_id, now=_now())
            return found
        _purge(root, index, found)
        return found


def _checked(root: Root, request: RegistrationRequest) -> RegistrationRequest:
    mail_address.check(request.address)
    if not request.owner_principal_id.strip():
        raise _bad_registration("a mailbox needs an owner")
    if mail_address.is_reserved(request.address) and request.address != mail_address.OPERATOR_ADDRESS:
        raise _bad_registration(
            f"{request.address} is reserved: only the operator's address starts with {names.PREFIX}"
        )
    if (
        request.address == mail_address.OPERATOR_ADDRESS
        and request.owner_principal_id != mail_address.OPERATOR_PRINCIPAL
    ):
        raise _bad_registration(f"{request.address} belongs to {mail_address.OPERATOR_PRINCIPAL}")
    if request.mailbox_kind == "in_root":
        if request.mailbox_path not in (None, root.entry(request.address)):
            raise _bad_registration(
                f"the path of a mailbox in the root must be {root.entry(request.address)}"
            )
        return dataclasses.replace(request, mailbox_path=root.entry(request.address))
    if request.mailbox_path is None or not request.mailbox_path.is_absolute():
        raise _bad_registration("a symlink mailbox needs the absolute path of its folder")
    target = request.mailbox_path.resolve()
    if target.is_relative_to(root.path.resolve()) or root.path.resolve().is_relative_to(target):
        raise _bad_registration(f"{target} is not outside the mailbox root {root.path}")
    return dataclasses.replace(request, mailbox_path=target)


def _check_folder_free(index: sqlite3.Connection, request: RegistrationRequest) -> None:
    row = run(index, "active_at", mailbox_path=str(request.mailbox_path)).fetchone()
    if row is not None and row["address"] != request.address:
        raise Conflict(
            f"{request.mailbox_path} is the mailbox of {row['address']}", code="mailbox_registration_conflict"
        )


def _safely(root: Root, index: sqlite3.Connection, request: RegistrationRequest) -> Registered:
    old = active(index, request.address)
    if old is not None and not _matches(old, request):
        raise Conflict(
            f"{request.address} belongs to {old.owner_principal_id} at {old.mailbox_path}; "
            "register it with mode force (deletes that mailbox) or stash (moves it aside)",
            code="mailbox_registration_conflict",
        )
    former = of_address(index, request.address)
    old = old or next((one for one in former if one.status == "inactive" and _matches(one, request)), None)
    if old is None:
        return Registered(registration=_create(root, index, request))
    folders.make(root, request.address, old.folder)
    with databases.transaction(index):
        run(
            index,
            "describe_registration",
            registration_id=old.registration_id,
            display_name=request.display_name,
            manifest_path_hint=request.manifest_path_hint,
            role=request.role,
        )
    return Registered(registration=_by_id(index, old.registration_id), is_reused=True)


def _matches(old: Registration, request: RegistrationRequest) -> bool:
    return (
        old.owner_principal_id == request.owner_principal_id
        and old.mailbox_kind == request.mailbox_kind
        and old.mailbox_path == str(request.mailbox_path)
    )


def _create(root: Root, index: sqlite3.Connection, request: RegistrationRequest) -> Registration:
    assert request.mailbox_path is not None
    folders.make(root, request.address, request.mailbox_path)
    crashpoints.reach("mailbox made")
    with databases.transaction(index):
        registration_id = _insert(root, index, request)
    return _by_id(index, registration_id)


def _insert(root: Root, index: sqlite3.Connection, request: RegistrationRequest) -> str:
    registration_id = f"reg-{ids.hex_id(32)}"
    run(
        index,
        "put_registration",
        registration_id=registration_id,
        address=request.address,
        owner_principal_id=request.owner_principal_id,
        status="active",
        mailbox_kind=request.mailbox_kind,
        mailbox_path=str(request.mailbox_path),
        mailbox_entry_path=str(root.entry(request.address)),
        display_name=request.display_name,
        manifest_path_hint=request.manifest_path_hint,
        role=request.role,
        created_at_utc=_now(),
    )
    return registration_id


def _replace(
    root: Root, index: sqlite3.Connection, request: RegistrationRequest, old: Registration
) -> Registered:
    assert request.mailbox_path is not None
    away = _take_away(root, old)
    folders.make(root, request.address, request.mailbox_path)
    crashpoints.reach("mailbox replaced")
    with databases.transaction(index):
        _forget_contents(index, old)
        run(index, "deactivate", registration_id=old.registration_id, now=_now())
        registration_id = _insert(root, index, request)
        run(index, "replace", registration_id=old.registration_id, by=registration_id)
    _remove(away)
    return Registered(registration=_by_id(index, registration_id), replaced=old)


def _stash(
    root: Root, index: sqlite3.Connection, request: RegistrationRequest, old: Registration
) -> Registered:
    assert request.mailbox_path is not None
    entry = root.mailboxes / f"{old.address}--{ids.hex_id(32)}"
    Path(old.mailbox_entry_path).rename(entry)
    crashpoints.reach("mailbox stashed")
    # Of a linked mailbox only the link moves.
    path = entry if old.mailbox_kind == "in_root" else old.folder
    folders.make(root, request.address, request.mailbox_path)
    with databases.transaction(index):
        run(
            index,
            "stash",
            registration_id=old.registration_id,
            now=_now(),
            mailbox_path=str(path),
            mailbox_entry_path=str(entry),
        )
        run(
            index,
            "stash_projections",
            registration_id=old.registration_id,
            old=old.mailbox_path,
            new=str(path),
        )
        registration_id = _insert(root, index, request)
    return Registered(registration=_by_id(index, registration_id), stashed=_by_id(index, old.registration_id))


def _purge(root: Root, index: sqlite3.Connection, old: Registration) -> None:
    away = _take_away(root, old)
    crashpoints.reach("mailbox taken away")
    with databases.transaction(index):
        _forget_contents(index, old)
        for statement in ("forget_replacements", "forget_sender", "forget_recipient", "forget_registration"):
            run(index, statement, registration_id=old.registration_id)
    _remove(away)


def _forget_contents(index: sqlite3.Connection, old: Registration) -> None:
    run(index, "forget_projections", registration_id=old.registration_id)
    run(index, "forget_state", registration_id=old.registration_id)


def _take_away(root: Root, old: Registration) -> Path:
    """Move a mailbox to the trash, from which any process can remove it. A private folder itself stays."""
    away = folders.trash_folder(root)
    if old.mailbox_kind == "symlink":
        Path(old.mailbox_entry_path).unlink(missing_ok=True)
        folders.empty(old.folder, away)
    elif old.folder.is_dir() and not old.folder.is_symlink():
        old.folder.rename(away / "mailbox")
    return away


def _remove(away: Path) -> None:
    shutil.rmtree(away, ignore_errors=True)  # `mailbox cleanup` removes what is left here


def _by_id(index: sqlite3.Connection, registration_id: str) -> Registration:
    return Registration.from_row(run(index, "by_id", registration_id=registration_id).fetchone())


def _now() -> str:
    return clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _bad_registration(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_mailbox_registration")
