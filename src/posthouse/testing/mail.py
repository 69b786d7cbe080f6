"""Mailboxes for tests and benches: an office with agents in it, on whatever transport is tried."""

from pathlib import Path
from typing import Protocol

from posthouse.contracts import mail_address
from posthouse.mailbox import Transport
from posthouse.mailbox.filesystem import create_root, register_mailbox
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox, open_mailbox
from posthouse.mailbox.filesystem.registration import RegistrationRequest


class Office(Protocol):
    """Where mailboxes are."""

    def mailbox(self, name: str) -> Transport:
        """The mailbox of the agent *name*, made when it is not there."""


class FilesystemOffice:
    """An office in a mailbox root of its own."""

    def __init__(self, path: Path) -> None:
        self.root: Root = create_root.create_root(path)

    def mailbox(self, name: str) -> FilesystemMailbox:
        address, principal = address_of(name), f"HOUMAO-{name}"
        request = RegistrationRequest(address=address, owner_principal_id=principal)
        register_mailbox.register(self.root, request)
        return open_mailbox(self.root.path, address=address, principal_id=principal)


def address_of(name: str) -> str:
    return mail_address.default_address(name)
