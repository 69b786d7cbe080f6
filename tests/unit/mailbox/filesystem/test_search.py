"""The index of words beside a mailbox: it follows what the mailbox becomes."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from posthouse.mailbox import Draft
from posthouse.mailbox.filesystem import search
from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox
from posthouse.mailbox.transport import MailTransportError
from posthouse.testing.mail import FilesystemOffice


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    return FilesystemOffice(tmp_path / "mail")


def _send(office: FilesystemOffice, *subjects: str) -> FilesystemMailbox:
    """Ben's mailbox, with these subjects from Ada."""
    ada, ben = office.mailbox("ada"), office.mailbox("ben")
    for subject in subjects:
        ada.send(Draft(to=(ben.address,), subject=subject, body="common"))
    return ben


def _change(ben: FilesystemMailbox, statement: str) -> None:
    """Do to the mailbox what another program may do."""
    path = ben.root.path / "mailboxes" / ben.address / "mailbox.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def _known(ben: FilesystemMailbox) -> int:
    """How many messages the index knows."""
    path = ben.root.path / "mailboxes" / ben.address / search.FILE
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM known").fetchone()[0])


def test_new_mail_is_found_without_looking_at_the_old(
    office: FilesystemOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what came since the last search is read."""
    ben = _send(office, "one", "two")
    before = len(ben.search("common"))
    monkeypatch.setattr(search, "_compare_all", lambda connection: pytest.fail("all was compared"))
    _send(office, "three")

    assert (before, len(ben.search("common")), len(ben.search("three"))) == (2, 3, 1)


def test_a_mailbox_that_was_made_again_is_compared(office: FilesystemOffice) -> None:
    """Rows with other numbers are the same messages, and what is new among them is found."""
    ben = _send(office, "one", "two")
    ben.search("common")
    _change(ben, "UPDATE message_state SET rowid = 9 - rowid")
    _send(office, "three")

    assert (len(ben.search("common")), len(ben.search("three")), _known(ben)) == (3, 1, 3)


def test_a_message_that_went_away_is_forgotten(office: FilesystemOffice) -> None:
    """The words of a message that the mailbox no longer has are in the index no more."""
    ben = _send(office, "one", "two")
    ben.search("common")
    _change(ben, "DELETE FROM message_state WHERE subject = 'two'")

    assert (len(ben.search("common")), ben.search("two"), _known(ben)) == (1, [], 1)


def test_a_named_pipe_as_mailbox_is_not_waited_for(office: FilesystemOffice) -> None:
    """Its other end is never opened."""
    ben = office.mailbox("ben")
    path = ben.root.path / "mailboxes" / ben.address / "mailbox.sqlite"
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(MailTransportError, match="can't be used"):
        ben.search("common")
