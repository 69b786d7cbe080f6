"""A delivery that its sender breaks off."""

from pathlib import Path

import pytest

from posthouse.mailbox.filesystem import placement
from posthouse.mailbox.filesystem.open_root import open_root
from posthouse.mailbox.message import Draft, MailFilter
from posthouse.testing.mail import FilesystemOffice, address_of


def test_a_delivery_that_is_broken_off_is_undone_by_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C before the commit leaves what a kill would: a mark that says what was half done."""
    office = FilesystemOffice(tmp_path / "mail")
    ada, ben = office.mailbox("ada"), office.mailbox("ben")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(placement, "commit", interrupted)
        ada.send(Draft(to=(address_of("ben"),), subject="hello", body="a body"))
    open_root(office.root.path)

    assert (ben.find(MailFilter()), ada.find(MailFilter(box="sent"))) == ([], [])
    assert list(office.root.messages.rglob("*.md")) == []
