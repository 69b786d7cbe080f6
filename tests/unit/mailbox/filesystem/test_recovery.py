"""Files in the staging folder that are no half-done deliveries."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.mailbox import Draft, MailFilter
from posthouse.mailbox.filesystem import recovery, repair
from posthouse.mailbox.filesystem.open_root import open_root
from posthouse.testing.mail import FilesystemOffice, address_of


def _folder(path: Path) -> None:
    (path / "inside").mkdir(parents=True)


def _pipe(path: Path) -> None:
    os.mkfifo(path)
    os.link(path, path.with_suffix(".twin"))


def _closed(path: Path) -> None:
    _torn(path)
    path.chmod(0)


def _torn(path: Path) -> None:
    path.write_text('---\nmessage_id: "msg-2026')
    os.link(path, path.with_suffix(".twin"))


def _deep(path: Path) -> None:
    path.write_text(f"---\nheaders: {'[' * 5000}{']' * 5000}\n---\n")
    os.link(path, path.with_suffix(".twin"))


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")
    os.link(path, path.with_suffix(".twin"), follow_symlinks=False)


def _not_utf8(path: Path) -> None:
    path.write_bytes(b"---\n\xff\n---\n")
    os.link(path, path.with_suffix(".twin"))


BAD: dict[str, Callable[[Path], None]] = {
    "a folder": _folder,
    "a pipe": _pipe,
    "unreadable": _closed,
    "torn": _torn,
    "nested deeply": _deep,
    "a link": _link,
    "not UTF-8": _not_utf8,
}


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    return FilesystemOffice(tmp_path / "mail")


@pytest.mark.parametrize("spoil", BAD.values(), ids=BAD.keys())
def test_a_bad_staged_file_stops_no_mail(
    office: FilesystemOffice, spoil: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """It is skipped with a logged reason; a repair names it and sets it aside."""
    ada, ben = office.mailbox("ada"), office.mailbox("ben")
    bad = office.root.staging / "bad.md"
    spoil(bad)

    open_root(office.root.path)
    ada.send(Draft(to=(address_of("ben"),), subject="hello", body=""))
    reported = [path for path, _ in recovery.unreadable(office.root)]
    skipped = caplog.text
    report = repair.repair(office.root)
    caplog.clear()
    ada.send(Draft(to=(address_of("ben"),), subject="again", body=""))

    assert [message.subject for message in ben.find(MailFilter())] == ["again", "hello"]
    assert reported == [bad]
    assert "staged file skipped" in skipped
    assert str(bad) in skipped
    assert caplog.text == ""
    assert [str(bad) in reason for reason in report.unreadable] == [True]
    assert [Path(kept).name.startswith("bad.md.corrupt-") for kept in report.set_aside] == [True]
    assert not os.path.lexists(bad)


@pytest.mark.needs_host("root")
def test_a_staged_file_of_another_user_is_not_believed(office: FilesystemOffice) -> None:
    """It could remove the message that it names."""
    ada, ben = office.mailbox("ada"), office.mailbox("ben")
    ada.send(Draft(to=(address_of("ben"),), subject="hello", body=""))
    (canonical,) = office.root.messages.rglob("*.md")
    planted = office.root.staging / "planted.md"
    planted.write_bytes(canonical.read_bytes())
    os.link(planted, planted.with_suffix(".twin"))
    os.chown(planted, 65534, 65534)

    open_root(office.root.path)

    assert planted.exists()
    assert [path for path, _ in recovery.unreadable(office.root)] == [planted]
    assert [message.subject for message in ben.find(MailFilter())] == ["hello"]


def test_a_staged_file_that_can_not_be_placed_stops_no_mail(office: FilesystemOffice) -> None:
    """A file stands where its link belongs; other mail goes on."""
    ada, ben = office.mailbox("ada"), office.mailbox("ben")
    sent = ada.send(Draft(to=(address_of("ben"),), subject="hello", body=""))
    message_id = sent.message_ref.removeprefix("filesystem:")
    (canonical,) = office.root.messages.rglob("*.md")
    os.link(canonical, office.root.staging / "half.md")
    (link,) = (office.root.mailboxes / address_of("ben")).rglob(f"inbox/{message_id}.md")
    link.unlink()
    link.write_text("in the way")

    ada.send(Draft(to=(address_of("ben"),), subject="again", body=""))

    assert [message.subject for message in ben.find(MailFilter())] == ["again", "hello"]
