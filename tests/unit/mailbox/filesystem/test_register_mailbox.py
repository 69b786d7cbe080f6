"""Who has a mailbox, and what becomes of the one before."""

from pathlib import Path

import pytest

from posthouse.errors import Conflict, InvalidInput
from posthouse.mailbox import Draft, MailboxUnusable, MailFilter, UnknownRecipient
from posthouse.mailbox.filesystem import databases, register_mailbox, registration
from posthouse.mailbox.filesystem.registration import (
    NotRegistered,
    Registration,
    RegistrationRequest,
)
from posthouse.testing.mail import FilesystemOffice, address_of

_BEN = address_of("ben")


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    """A root with two mailboxes, one message from ada to ben in it."""
    made = FilesystemOffice(tmp_path / "mail")
    ada = made.mailbox("ada")
    made.mailbox("ben")
    ada.send(Draft(to=(_BEN,), subject="first", body=""))
    return made


def _known(office: FilesystemOffice, address: str = _BEN) -> list[Registration]:
    with databases.opened(office.root.index) as index:
        return registration.of_address(index, address)


def _wish(**more: object) -> RegistrationRequest:
    return RegistrationRequest(address=_BEN, owner_principal_id="HOUMAO-ben", **more)  # type: ignore[arg-type]


def _subjects(office: FilesystemOffice) -> list[str]:
    return [message.subject for message in office.mailbox("ben").find(MailFilter())]


def test_safe_takes_up_what_is_there_and_what_was_there(office: FilesystemOffice) -> None:
    """The same registration twice is one; a deactivated one comes back with its mail."""
    [before] = _known(office)

    again = register_mailbox.register(office.root, _wish(display_name="Ben"))
    assert (again.is_reused, again.registration.display_name) == (True, "Ben")
    register_mailbox.deregister(office.root, _BEN, "deactivate")
    with pytest.raises(UnknownRecipient, match="is inactive; register it again"):
        office.mailbox("ada").send(Draft(to=(_BEN,), subject="second", body=""))
    back = register_mailbox.register(office.root, _wish())
    assert back.registration.registration_id == before.registration_id
    assert _subjects(office) == ["first"]


def test_safe_never_takes_anothers_mailbox(office: FilesystemOffice) -> None:
    """The conflict says whose it is and what can be done."""
    wish = RegistrationRequest(address=_BEN, owner_principal_id="HOUMAO-eve")

    with pytest.raises(Conflict, match=r"belongs to HOUMAO-ben .* stash"):
        register_mailbox.register(office.root, wish)


def test_force_begins_anew_and_names_what_it_replaced(office: FilesystemOffice) -> None:
    """The old mail is gone from the mailbox, and the message stays in the root."""
    [old] = _known(office)

    done = register_mailbox.register(office.root, _wish(mode="force"))

    assert done.replaced == old
    new, replaced = _known(office)
    assert (replaced.status, replaced.replaced_by_registration_id) == ("inactive", new.registration_id)
    assert _subjects(office) == []
    assert len(list(office.root.messages.glob("*/*.md"))) == 1
    assert list(office.root.staging.iterdir()) == []


def test_stash_puts_the_old_mailbox_aside_whole(office: FilesystemOffice) -> None:
    """It keeps its mail under another name, and the address begins anew."""
    done = register_mailbox.register(office.root, _wish(mode="stash"))

    assert done.stashed is not None
    stashed = Path(done.stashed.mailbox_path)
    assert (stashed.parent, done.stashed.status) == (office.root.mailboxes, "stashed")
    assert [link.is_file() for link in (stashed / "inbox").iterdir()] == [True]
    with databases.opened(office.root.index) as index:
        paths = [row[0] for row in index.execute("SELECT projection_path FROM mailbox_projections")]
    assert all(Path(path).is_symlink() for path in paths)
    assert _subjects(office) == []


def test_purge_forgets_the_mailbox_and_keeps_the_messages(office: FilesystemOffice) -> None:
    """Whoever sent the mail still has it."""
    gone = register_mailbox.deregister(office.root, _BEN, "purge")

    assert not Path(gone.mailbox_path).exists()
    assert _known(office) == []
    assert len(office.mailbox("ada").find(MailFilter(box="sent"))) == 1
    with pytest.raises(NotRegistered):
        register_mailbox.deregister(office.root, _BEN, "deactivate")


def test_a_private_mailbox_lies_outside_and_is_linked(office: FilesystemOffice, tmp_path: Path) -> None:
    """Mail goes through the link; what else lies in the private folder is left alone."""
    private = tmp_path / "private"
    wish = RegistrationRequest(
        address="cleo@b", owner_principal_id="HOUMAO-cleo", mailbox_kind="symlink", mailbox_path=private
    )
    register_mailbox.register(office.root, wish)
    (private / "diary.txt").write_text("mine")
    office.mailbox("ada").send(Draft(to=("cleo@b",), subject="psst", body=""))

    assert office.root.entry("cleo@b").readlink() == private
    assert len(list((private / "inbox").iterdir())) == 1
    register_mailbox.deregister(office.root, "cleo@b", "purge")
    assert not office.root.entry("cleo@b").is_symlink()
    assert (private / "diary.txt").read_text() == "mine"
    assert list((private / "inbox").iterdir()) == []


def test_a_private_folder_serves_one_address_and_is_outside_the_root(
    office: FilesystemOffice, tmp_path: Path
) -> None:
    """Nobody reads another's mail by registering its folder."""
    taken = tmp_path / "taken"
    for address in ("x@b", "y@b"):
        wish = RegistrationRequest(
            address=address, owner_principal_id="HOUMAO-x", mailbox_kind="symlink", mailbox_path=taken
        )
        if address == "x@b":
            register_mailbox.register(office.root, wish)
        else:
            with pytest.raises(Conflict, match="is the mailbox of x@b"):
                register_mailbox.register(office.root, wish)
    for path in (office.root.path / "messages", office.root.path.parent):
        with pytest.raises(InvalidInput, match="not outside"):
            register_mailbox.register(
                office.root,
                RegistrationRequest(
                    address="z@b", owner_principal_id="p", mailbox_kind="symlink", mailbox_path=path
                ),
            )


@pytest.mark.parametrize(
    "address", ["a/b@c", "../x@y", "a@..", "HOUMAO-eve@houmao.localhost", ".a@b", "a@b/"]
)
def test_no_address_leads_out_of_the_root_or_claims_to_be_the_system(
    office: FilesystemOffice, address: str
) -> None:
    """An address is a folder's name, and reserved ones are the operator's."""
    with pytest.raises((InvalidInput, InvalidInput)):
        register_mailbox.register(
            office.root, RegistrationRequest(address=address, owner_principal_id="HOUMAO-eve")
        )


def test_the_operator_is_always_there_and_can_not_be_taken(office: FilesystemOffice) -> None:
    """It comes with the root and can't be removed or claimed."""
    operator = "HOUMAO-operator@houmao.localhost"

    assert [one.status for one in _known(office, operator)] == ["active"]
    with pytest.raises(InvalidInput, match="stays"):
        register_mailbox.deregister(office.root, operator, "purge")
    with pytest.raises(InvalidInput, match="belongs to HOUMAO-operator"):
        register_mailbox.register(
            office.root, RegistrationRequest(address=operator, owner_principal_id="HOUMAO-eve")
        )


def test_something_else_in_the_way_is_not_overwritten(office: FilesystemOffice) -> None:
    """A file where a mailbox would go is somebody's."""
    office.root.entry("dora@b").write_text("mine")

    with pytest.raises(MailboxUnusable, match="not a real folder"):
        register_mailbox.register(
            office.root, RegistrationRequest(address="dora@b", owner_principal_id="HOUMAO-dora")
        )
