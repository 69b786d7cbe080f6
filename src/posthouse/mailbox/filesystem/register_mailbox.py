"""Giving an address a mailbox, and taking it away again."""

import dataclasses
import shutil
import sqlite3
from pathlib import Path

from posthouse.contracts import mail_address, names
from posthouse.mailbox.filesystem import databases, folders, locks
from posthouse.mailbox.filesystem.databases import run
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import (
    OPERATOR,
    BadRegistration,
    NotRegistered,
    Registration,
    RegistrationConflict,
    Removal,
    Wish,
    active,
    of_address,
)
from posthouse.support import clock, crashpoints, ids


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What a registration did."""

    registration: Registration
    is_reused: bool = False
    replaced: Registration | None = None
    stashed: Registration | None = None


def register(root: Root, wish: Wish) -> Registered:
    """Give an address a mailbox.

    `safe` takes up the one it has or had; `force` throws that away first; `stash` puts it aside.

    Raises:
        BadAddress, BadRegistration: It can't be registered like this by anybody.
        RegistrationConflict: Another owner or folder has it, and the mode does not say what becomes of that.
    """
    wish = _checked(root, wish)
    with locks.hold(root, [wish.address], index=True), databases.opened(root.index) as index:
        _check_folder_free(index, wish)
        if wish.mode == "safe":
            return _safely(root, index, wish)
        old = active(index, wish.address)
        if old is None:
            return Registered(registration=_create(root, index, wish))
        return _replace(root, index, wish, old) if wish.mode == "force" else _stash(root, index, wish, old)


def ensure_operator(root: Root) -> Registration:
    """The operator's mailbox, made when it is not there."""
    with databases.opened(root.index) as index:
        found = active(index, mail_address.OPERATOR_ADDRESS)
    if found is not None and folders.is_whole(found.folder):
        return found
    return register(root, OPERATOR).registration


def deregister(root: Root, address: str, removal: Removal) -> Registration:
    """Take the mailbox of *address* out of use, or away. Messages stay in the root either way.

    Raises:
        NotRegistered: It has none.
        BadRegistration: It is the operator's.
    """
    if mail_address.check(address) == mail_address.OPERATOR_ADDRESS:
        raise BadRegistration(f"{address} is the operator's and stays")
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


def _checked(root: Root, wish: Wish) -> Wish:
    mail_address.check(wish.address)
    if not wish.owner_principal_id.strip():
        raise BadRegistration("a mailbox needs an owner")
    if mail_address.is_reserved(wish.address) and wish.address != mail_address.OPERATOR_ADDRESS:
        raise BadRegistration(
            f"{wish.address} is reserved: only the operator's address starts with {names.PREFIX}"
        )
    if (
        wish.address == mail_address.OPERATOR_ADDRESS
        and wish.owner_principal_id != mail_address.OPERATOR_PRINCIPAL
    ):
        raise BadRegistration(f"{wish.address} belongs to {mail_address.OPERATOR_PRINCIPAL}")
    if wish.mailbox_kind == "in_root":
        if wish.mailbox_path not in (None, root.entry(wish.address)):
            raise BadRegistration(f"a mailbox in the root lies at {root.entry(wish.address)}")
        return dataclasses.replace(wish, mailbox_path=root.entry(wish.address))
    if wish.mailbox_path is None or not wish.mailbox_path.is_absolute():
        raise BadRegistration("a symlink mailbox needs the absolute path of its folder")
    target = wish.mailbox_path.resolve()
    if target.is_relative_to(root.path.resolve()) or root.path.resolve().is_relative_to(target):
        raise BadRegistration(f"{target} is not outside the mailbox root {root.path}")
    return dataclasses.replace(wish, mailbox_path=target)


def _check_folder_free(index: sqlite3.Connection, wish: Wish) -> None:
    row = run(index, "active_at", mailbox_path=str(wish.mailbox_path)).fetchone()
    if row is not None and row["address"] != wish.address:
        raise RegistrationConflict(f"{wish.mailbox_path} is the mailbox of {row['address']}")


def _safely(root: Root, index: sqlite3.Connection, wish: Wish) -> Registered:
    old = active(index, wish.address)
    if old is not None and not _matches(old, wish):
        raise RegistrationConflict(
            f"{wish.address} belongs to {old.owner_principal_id} at {old.mailbox_path}; "
            "register it with mode force (throws that mailbox away) or stash (puts it aside)"
        )
    former = of_address(index, wish.address)
    old = old or next((one for one in former if one.status == "inactive" and _matches(one, wish)), None)
    if old is None:
        return Registered(registration=_create(root, index, wish))
    folders.make(root, wish.address, old.folder)
    with databases.transaction(index):
        run(
            index,
            "describe_registration",
            registration_id=old.registration_id,
            display_name=wish.display_name,
            manifest_path_hint=wish.manifest_path_hint,
            role=wish.role,
        )
    return Registered(registration=_by_id(index, old.registration_id), is_reused=True)


def _matches(old: Registration, wish: Wish) -> bool:
    return (
        old.owner_principal_id == wish.owner_principal_id
        and old.mailbox_kind == wish.mailbox_kind
        and old.mailbox_path == str(wish.mailbox_path)
    )


def _create(root: Root, index: sqlite3.Connection, wish: Wish) -> Registration:
    assert wish.mailbox_path is not None
    folders.make(root, wish.address, wish.mailbox_path)
    crashpoints.reach("mailbox made")
    with databases.transaction(index):
        registration_id = _insert(root, index, wish)
    return _by_id(index, registration_id)


def _insert(root: Root, index: sqlite3.Connection, wish: Wish) -> str:
    registration_id = f"reg-{ids.hex_id(32)}"
    run(
        index,
        "put_registration",
        registration_id=registration_id,
        address=wish.address,
        owner_principal_id=wish.owner_principal_id,
        status="active",
        mailbox_kind=wish.mailbox_kind,
        mailbox_path=str(wish.mailbox_path),
        mailbox_entry_path=str(root.entry(wish.address)),
        display_name=wish.display_name,
        manifest_path_hint=wish.manifest_path_hint,
        role=wish.role,
        created_at_utc=_now(),
    )
    return registration_id


def _replace(root: Root, index: sqlite3.Connection, wish: Wish, old: Registration) -> Registered:
    assert wish.mailbox_path is not None
    away = _take_away(root, old)
    folders.make(root, wish.address, wish.mailbox_path)
    crashpoints.reach("mailbox replaced")
    with databases.transaction(index):
        _forget_contents(index, old)
        run(index, "deactivate", registration_id=old.registration_id, now=_now())
        registration_id = _insert(root, index, wish)
        run(index, "replace", registration_id=old.registration_id, by=registration_id)
    _remove(away)
    return Registered(registration=_by_id(index, registration_id), replaced=old)


def _stash(root: Root, index: sqlite3.Connection, wish: Wish, old: Registration) -> Registered:
    assert wish.mailbox_path is not None
    entry = root.mailboxes / f"{old.address}--{ids.hex_id(32)}"
    Path(old.mailbox_entry_path).rename(entry)
    crashpoints.reach("mailbox stashed")
    # Of a linked mailbox only the link moves.
    path = entry if old.mailbox_kind == "in_root" else old.folder
    folders.make(root, wish.address, wish.mailbox_path)
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
        registration_id = _insert(root, index, wish)
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
    """Move a mailbox to where its removal can be finished by anybody. Of a linked one, only what is ours."""
    away = folders.limbo(root)
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
