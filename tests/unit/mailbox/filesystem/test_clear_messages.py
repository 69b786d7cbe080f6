"""Removing every message of a root."""

from pathlib import Path

import pytest

from posthouse.mailbox import Draft, MailFilter, OutgoingAttachment
from posthouse.mailbox.filesystem import clear_messages, register_mailbox, repair
from posthouse.mailbox.filesystem.clear_messages import Cleared
from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox
from posthouse.mailbox.filesystem.registration import RegistrationRequest
from posthouse.testing.mail import FilesystemOffice, address_of

_FOUND = Cleared(messages=2, mailboxes=4, attachments=1)


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    """Ada wrote to Ben twice, once with a copied file; between the letters Ben's mailbox was stashed."""
    (tmp_path / "plot").write_text("content")
    made = FilesystemOffice(tmp_path / "mail")
    ada, _ = made.mailbox("ada"), made.mailbox("ben")
    plot = OutgoingAttachment(path=tmp_path / "plot", is_copied=True)
    ada.send(Draft(to=(address_of("ben"),), subject="one", body="words", enclosures=(plot,)))
    stashed = RegistrationRequest(address=address_of("ben"), owner_principal_id="HOUMAO-ben", mode="stash")
    register_mailbox.register(made.root, stashed)
    ada.send(Draft(to=(address_of("ben"),), subject="two", body="words"))
    return made


def _left(office: FilesystemOffice) -> list[str]:
    """Every file of messages, links and attachments."""
    root = office.root
    found = [*root.messages.rglob("*"), *root.managed.rglob("*"), *root.mailboxes.glob("*/*/*")]
    return sorted(str(path.relative_to(root.path)) for path in found)


def _subjects(box: FilesystemMailbox) -> list[str]:
    return [message.subject for message in box.find(MailFilter())]


def test_nothing_is_left_but_the_mailboxes(office: FilesystemOffice) -> None:
    """Documents, links, rows, words and copies are gone, also of stashed mailboxes; mail goes on."""
    ben = office.mailbox("ben")
    ben.search("words")
    cleared = clear_messages.clear_messages(office.root)
    again = clear_messages.clear_messages(office.root)

    assert (cleared, again) == (_FOUND, Cleared(messages=0, mailboxes=4, attachments=0))
    assert (_left(office), ben.search("words"), repair.repair(office.root).messages) == ([], [], 0)
    office.mailbox("ada").send(Draft(to=(ben.address,), subject="three", body=""))
    assert _subjects(ben) == ["three"]


def test_a_dry_run_only_counts(office: FilesystemOffice) -> None:
    """What would be removed is told, and nothing is."""
    before = _left(office)

    assert clear_messages.clear_messages(office.root, dry_run=True) == _FOUND
    assert (_left(office), _subjects(office.mailbox("ben"))) == (before, ["two"])
