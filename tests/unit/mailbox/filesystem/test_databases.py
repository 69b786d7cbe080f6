"""What is ours in the contract's databases."""

import sqlite3
from contextlib import closing
from pathlib import Path

from posthouse.mailbox import Draft, MailFilter
from posthouse.testing.mail import FilesystemOffice

_OURS = {"posthouse_message_state_box", "posthouse_message_state_time"}


def _ours(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, type FROM sqlite_master WHERE name LIKE 'posthouse%'")
        return dict(found.fetchall())


def test_two_indexes_are_all_that_is_ours_and_no_answer_needs_them(tmp_path: Path) -> None:
    """Without them a mailbox is listed as with them, and whoever opens it next adds them again."""
    office = FilesystemOffice(tmp_path / "mail")
    ada, ben = office.mailbox("ada"), office.mailbox("ben")
    for number in range(3):
        ada.send(Draft(to=(ben.address,), subject=f"{number}", body=""))
    path = office.root.mailboxes / ben.address / "mailbox.sqlite"
    known = ben.find(MailFilter())
    before = _ours(path)
    with closing(sqlite3.connect(path)) as connection:
        for name in _OURS:
            connection.execute(f"DROP INDEX {name}")

    assert (before, _ours(path), _ours(office.root.index)) == (dict.fromkeys(_OURS, "index"), {}, {})
    assert ben.find(MailFilter()) == known
    office.mailbox("ben")
    assert _ours(path) == before
