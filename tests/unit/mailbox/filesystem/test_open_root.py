"""Which folders are opened as mailbox roots, and what hostile ones come to."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.mailbox import Draft, MailboxUnusable, MailFilter
from posthouse.mailbox.filesystem import create_root, open_root
from posthouse.mailbox.filesystem.mailbox import open_mailbox
from posthouse.testing.mail import FilesystemOffice, address_of


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    """A root with one mailbox."""
    made = FilesystemOffice(tmp_path / "mail")
    made.mailbox("ada")
    return made


def test_a_new_root_has_the_contracts_layout(office: FilesystemOffice) -> None:
    """Marker, folders, index and the rules; nobody else may look in."""
    root = office.root
    assert root.marker.read_text() == "3\n"
    assert sorted(path.name for path in root.path.iterdir()) == [
        "attachments",
        "index.sqlite",
        "locks",
        "mailboxes",
        "messages",
        "protocol-version.txt",
        "rules",
        "staging",
    ]
    assert sorted(path.name for path in (root.rules / "scripts").glob("*.py")) == [
        "deliver_message.py",
        "deregister_mailbox.py",
        "insert_standard_headers.py",
        "register_mailbox.py",
        "repair_index.py",
        "update_mailbox_state.py",
    ]
    assert (root.path.stat().st_mode & 0o777, root.index.stat().st_mode & 0o777) == (0o700, 0o600)


def test_making_a_root_again_changes_nothing(office: FilesystemOffice) -> None:
    """Registrations and mail stay."""
    ada = office.mailbox("ada")
    ada.send(Draft(to=(address_of("ada"),), subject="kept", body=""))

    create_root.create_root(office.root.path)

    assert [message.subject for message in ada.find(MailFilter())] == ["kept"]


def test_both_databases_keep_the_contracts_journal(office: FilesystemOffice) -> None:
    """Another program on the root opens them as it always did."""
    for path in (office.root.index, office.root.entry(address_of("ada")) / "mailbox.sqlite"):
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        connection.close()


def test_a_folder_with_something_else_in_it_does_not_become_a_root(tmp_path: Path) -> None:
    """Nobody's files get mail among them."""
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(MailboxUnusable, match="has other content"):
        create_root.create_root(tmp_path)
    with pytest.raises(MailboxUnusable, match="not a mailbox root"):
        open_root.open_root(tmp_path)


def _version(office: FilesystemOffice) -> None:
    office.root.marker.write_text("4\n")


def _principals_folder(office: FilesystemOffice) -> None:
    (office.root.path / "locks" / "principals").mkdir()


def _principals_table(office: FilesystemOffice) -> None:
    connection = sqlite3.connect(office.root.index)
    connection.execute("CREATE TABLE principals (x)")
    connection.close()


def _broken_index(office: FilesystemOffice) -> None:
    office.root.index.write_bytes(b"not a database" * 1000)


def _odd_entry(office: FilesystemOffice) -> None:
    (office.root.mailboxes / "not-an-address").mkdir()


def _linked_folder(office: FilesystemOffice) -> None:
    office.root.staging.rmdir()
    office.root.staging.symlink_to("/tmp")


def _open_to_everybody(office: FilesystemOffice) -> None:
    office.root.messages.chmod(0o777)


def _missing_folder(office: FilesystemOffice) -> None:
    office.root.messages.rmdir()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_version, "protocol '4'"),
        (_principals_folder, "locks/principals"),
        (_principals_table, "table of principals"),
        (_broken_index, "mailbox repair"),
        (_odd_entry, "neither a mailbox nor a stashed one"),
        (_linked_folder, "not a real folder"),
        (_open_to_everybody, "can be written by other users; run: chmod go-w"),
        (_missing_folder, "is missing"),
    ],
)
def test_a_root_that_is_not_as_it_should_be_is_refused(
    office: FilesystemOffice, spoil: Callable[[FilesystemOffice], None], reason: str
) -> None:
    """The message says what is wrong, and nothing is touched."""
    spoil(office)

    with pytest.raises(MailboxUnusable, match=reason):
        open_root.open_root(office.root.path)


def test_an_ordinary_user_does_not_open_anothers_root(
    office: FilesystemOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns the folders decides where our mail goes."""
    if os.geteuid() == 0:
        os.chown(office.root.messages, 4321, 4321)
    # Only root could become somebody else, and somebody else could not reach this folder.
    monkeypatch.setattr(os, "geteuid", lambda: 1234)

    with pytest.raises(MailboxUnusable, match="belongs to user"):
        open_root.open_root(office.root.path)


@pytest.mark.needs_host("root")
def test_root_does_not_open_anothers_root(office: FilesystemOffice) -> None:
    """What its owner puts there would steer what runs as root."""
    os.chown(office.root.path, 65534, 65534)

    with pytest.raises(MailboxUnusable, match="belongs to user 65534, not to you"):
        open_root.open_root(office.root.path)


def test_a_mailbox_is_opened_for_its_owner_only(office: FilesystemOffice) -> None:
    """A binding that names another principal, or an address without a mailbox, is refused."""
    for address, principal in ((address_of("ada"), "HOUMAO-eve"), (address_of("eve"), "HOUMAO-eve")):
        with pytest.raises(MailboxUnusable):
            open_mailbox(office.root.path, address=address, principal_id=principal)


def test_a_document_replaced_by_a_link_is_not_followed(office: FilesystemOffice, tmp_path: Path) -> None:
    """A link in the root shows nothing of the file it leads to; the index still knows the message."""
    ada = office.mailbox("ada")
    sent = ada.send(Draft(to=(address_of("ada"),), subject="mine", body="real"))
    [document] = office.root.messages.glob("*/*.md")
    secret = tmp_path / "secret"
    secret.write_bytes(document.read_bytes().replace(b"real", b"fake"))
    document.unlink()
    document.symlink_to(secret)

    assert ada.peek(sent.message_ref).body_text == "real"


def test_one_lost_message_does_not_hide_the_others(office: FilesystemOffice) -> None:
    """A listing shows a stand-in for what neither document nor index has."""
    ada = office.mailbox("ada")
    lost = ada.send(Draft(to=(address_of("ada"),), subject="lost", body=""))
    ada.send(Draft(to=(address_of("ada"),), subject="kept", body=""))
    for document in office.root.messages.glob(f"*/{lost.message_ref.partition(':')[2]}.md"):
        document.unlink()
    connection = sqlite3.connect(office.root.index)
    connection.execute("DELETE FROM messages WHERE subject = 'lost'")
    connection.commit()
    connection.close()

    assert [message.subject for message in ada.find(MailFilter())] == ["kept", "(this message is lost)"]


def test_a_named_pipe_as_marker_is_not_waited_for(office: FilesystemOffice) -> None:
    """Its other end is never opened."""
    office.root.marker.unlink()
    os.mkfifo(office.root.marker)

    with pytest.raises(MailboxUnusable, match="is a named pipe"):
        open_root.open_root(office.root.path)
