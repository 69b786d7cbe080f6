"""A root whose databases or links were lost."""

from pathlib import Path

import pytest

from posthouse.errors import Conflict
from posthouse.mailbox import Draft, Flags, MailFilter
from posthouse.mailbox.filesystem import export, repair, stale_files
from posthouse.mailbox.filesystem.registration import NotRegistered
from posthouse.testing.mail import FilesystemOffice, address_of

_BEN = address_of("ben")


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    """Ben has three messages of one second from ada: one read, one archived, one new."""
    made = FilesystemOffice(tmp_path / "mail")
    ada, ben = made.mailbox("ada"), made.mailbox("ben")
    read, archived, _new = [
        ada.send(Draft(to=(_BEN,), subject=name, body=name)).message_ref for name in ("read", "old", "new")
    ]
    ben.mark([read], Flags(read=True))
    ben.archive([archived])
    return made


def _seen(office: FilesystemOffice) -> list[tuple[str, str | None, bool | None]]:
    ben = office.mailbox("ben")
    found = ben.find(MailFilter()) + ben.find(MailFilter(box="archive"))
    return [(message.subject, message.box, message.read) for message in found]


_BEFORE = [("new", "inbox", False), ("read", "inbox", True), ("old", "archive", True)]


def test_a_lost_index_is_made_again_and_marks_stay(office: FilesystemOffice) -> None:
    """Owners come from the documents, marks from the mailboxes."""
    office.root.index.unlink()

    report = repair.repair(office.root)

    assert (report.messages, report.registrations, report.restored, report.forgotten) == (3, 3, 0, 0)
    assert _seen(office) == _BEFORE
    office.mailbox("ada").send(Draft(to=(_BEN,), subject="next", body=""))


def test_a_broken_index_is_set_aside_and_made_again(office: FilesystemOffice) -> None:
    """What could not be read is kept for whoever wants to look."""
    office.root.index.write_bytes(b"torn" * 5000)

    report = repair.repair(office.root)

    [kept] = report.set_aside
    assert Path(kept).read_bytes() == b"torn" * 5000
    assert _seen(office) == _BEFORE


def test_a_lost_mailbox_database_is_filled_from_the_links(office: FilesystemOffice) -> None:
    """Inbox means unread, archive means archived and read; the order of arrival is the documents'."""
    (office.root.entry(_BEN) / "mailbox.sqlite").unlink()

    report = repair.repair(office.root)

    assert report.restored == 3
    assert _seen(office) == [("new", "inbox", False), ("read", "inbox", False), ("old", "archive", True)]


def test_lost_links_come_back_and_dangling_ones_go(office: FilesystemOffice) -> None:
    """Links follow from what is known."""
    for link in (office.root.entry(_BEN) / "inbox").iterdir():
        link.unlink()
    dangling = office.root.entry(_BEN) / "inbox" / ("msg-20200101T000000Z-" + "0" * 32 + ".md")
    dangling.symlink_to("/nowhere")

    report = repair.repair(office.root)

    links = list((office.root.entry(_BEN) / "inbox").iterdir())
    assert (report.forgotten, len(links), all(link.is_file() for link in links)) == (1, 2, True)
    assert _seen(office) == _BEFORE


def test_what_is_no_message_is_told_of_and_left_alone(office: FilesystemOffice) -> None:
    """A damaged document does not stop the repair of the others."""
    [folder] = office.root.messages.iterdir()
    stray = folder / "msg-20200101T000000Z-stray.md"
    stray.write_text("what is this")

    report = repair.repair(office.root)

    assert len(report.unreadable) == 1
    assert str(stray) in report.unreadable[0]
    assert stray.read_text() == "what is this"


def test_an_export_stands_by_itself(office: FilesystemOffice, tmp_path: Path) -> None:
    """Documents, boxes and marks of the chosen accounts; links lead inside the copy."""
    modes: tuple[export.SymlinkMode, ...] = ("materialize", "preserve")
    for mode in modes:
        done = export.export(office.root, tmp_path / mode, [_BEN], symlink_mode=mode)

        assert (done.addresses, done.messages) == ([_BEN], 3)
        boxes = tmp_path / mode / "mailboxes" / _BEN
        [archived] = (boxes / "archive").iterdir()
        assert archived.is_symlink() == (mode == "preserve")
        assert archived.resolve().is_relative_to(tmp_path / mode)
        assert archived.read_text().endswith("\n\nold")
        assert (boxes / "mailbox.sqlite").is_file()


def test_an_export_overwrites_nothing_and_leaves_nothing_half_done(
    office: FilesystemOffice, tmp_path: Path
) -> None:
    """A folder with something in it is refused, and so is an account that is not there."""
    with pytest.raises(Conflict, check=lambda error: error.code == "export_exists"):
        export.export(office.root, office.root.path, None)
    with pytest.raises(NotRegistered):
        export.export(office.root, tmp_path / "out", ["nobody@b"])

    assert [path.name for path in tmp_path.iterdir()] == ["mail"]


def test_clean_up_removes_what_belongs_to_nothing(office: FilesystemOffice) -> None:
    """Staged files and copies of attachments that no message names, once they are old."""
    staged = office.root.staging / "gateway-000000000000.md"
    staged.write_text("never delivered")
    orphan = office.root.managed / "att-0"
    orphan.mkdir()

    assert stale_files.clean_up(office.root) == []
    would = [one.path for one in stale_files.clean_up(office.root, dry_run=True, grace_seconds=-5)]
    assert would == [staged, orphan]
    assert staged.exists()
    stale_files.clean_up(office.root, grace_seconds=-5)
    assert (staged.exists(), orphan.exists()) == (False, False)
    assert _seen(office) == _BEFORE
