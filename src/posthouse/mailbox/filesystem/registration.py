"""A registration: the mailbox and the owner of an address."""

import sqlite3
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from posthouse.contracts import mail_address
from posthouse.errors import NotFound
from posthouse.mailbox.filesystem import databases, layout

Mode = Literal["safe", "force", "stash"]
Removal = Literal["deactivate", "purge"]
Kind = Literal["in_root", "symlink"]


class NotRegistered(NotFound):
    """No mailbox has that address in this root."""

    code = "mailbox_not_registered"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationRequest:
    """A request to register a mailbox."""

    address: str
    owner_principal_id: str
    mode: Mode = "safe"
    mailbox_kind: Kind = "in_root"
    #: Only for a `symlink` mailbox: the private folder outside the root.
    mailbox_path: Path | None = None
    display_name: str | None = None
    manifest_path_hint: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A row of the index."""

    registration_id: str
    address: str
    owner_principal_id: str
    status: Literal["active", "inactive", "stashed"]
    mailbox_kind: Kind
    mailbox_path: str
    mailbox_entry_path: str
    display_name: str | None
    manifest_path_hint: str | None
    role: str | None
    created_at_utc: str
    deactivated_at_utc: str | None
    replaced_by_registration_id: str | None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Registration":
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    @property
    def folder(self) -> Path:
        return Path(self.mailbox_path)

    @property
    def database(self) -> Path:
        return layout.local_index(self.folder)


OPERATOR = RegistrationRequest(
    address=mail_address.OPERATOR_ADDRESS,
    owner_principal_id=mail_address.OPERATOR_PRINCIPAL,
    display_name=mail_address.OPERATOR_DISPLAY_NAME,
    role=mail_address.OPERATOR_ROLE,
)


def active(connection: sqlite3.Connection, address: str) -> Registration | None:
    """The active registration of *address*, or None."""
    row = databases.run(connection, "active", address=address).fetchone()
    return None if row is None else Registration.from_row(row)


def required(index: sqlite3.Connection, root: layout.Root, address: str) -> Registration:
    """The active registration of *address*.

    Raises:
        NotRegistered: There is none.
    """
    found = active(index, address)
    if found is None:
        raise NotRegistered(
            f"no mailbox is active for {address} in {root.path}; `mailbox accounts list` shows all"
        )
    return found


def of_address(connection: sqlite3.Connection, address: str) -> list[Registration]:
    """Every registration *address* ever had, newest first."""
    return [Registration.from_row(row) for row in databases.run(connection, "of_address", address=address)]


def all_registrations(connection: sqlite3.Connection) -> list[Registration]:
    """Every registration, by address."""
    return [Registration.from_row(row) for row in databases.run(connection, "registrations")]
