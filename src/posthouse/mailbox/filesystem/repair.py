"""Rebuilds a root's index from its messages and mailboxes.

Documents hold sender, receivers and content; mailbox folders hold the box of each message; mailbox databases
hold its state. All readable data is kept.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from posthouse.contracts import mail_address
from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.mailbox.filesystem import databases, folders, locks, placement, reading, recovery, registration
from posthouse.mailbox.filesystem.databases import run, run_box
from posthouse.mailbox.filesystem.layout import Root, local_index
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.message import ARCHIVE, INBOX, SENT
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import clock, crashpoints, files, ids


@dataclass(slots=True, kw_only=True)
class RepairReport:
    """Result of a repair."""

    messages: int = 0
    registrations: int = 0
    #: Rows added to mailboxes.
    restored: int = 0
    #: Rows and links removed because their message is missing.
    forgotten: int = 0
    #: Files under `messages/` that are not messages, with the reason. They are not changed.
    unreadable: list[str] = field(default_factory=list)
    #: Corrupt databases and unreadable staged files, renamed.
    set_aside: list[str] = field(default_factory=list)


def repair(root: Root) -> RepairReport:
    """Rebuild `index.sqlite` and complete every mailbox. Only a complete index replaces the old one.

    Raises:
        MailTransportError: The root can't be read or written.
    """
    report = RepairReport()
    try:
        for folder in root.folders:
            files.private_folder(folder)
        with locks.hold(root, _addresses(root), index=True):
            known = _registrations(root, report)
            documents = _documents(root, report)
            fresh = root.staging / f"index-{ids.hex_id(12)}.sqlite"
            _build(root, fresh, known, documents, report)
            files.sync_folder(root.staging)
            crashpoints.reach("index built")
            _put_in_place(root, fresh)
            _set_aside_staged(root, report)
            _drop_staged_names(root)
    except OSError as error:
        raise MailTransportError(f"{root.path} can't be repaired: {error}") from error
    return report


def _addresses(root: Root) -> list[str]:
    return [entry.name for entry in root.mailboxes.iterdir() if mail_address.is_address(entry.name)]


def _registrations(root: Root, report: RepairReport) -> list[Registration]:
    try:
        with databases.opened(root.index) as index:
            if index.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok":
                return registration.all_registrations(index)
    except MailTransportError:
        pass  # corrupt: registrations are rebuilt from the folders
    if root.index.exists():
        report.set_aside.append(str(_set_aside(root.index)))
    return list(_from_folders(root))


def _from_folders(root: Root) -> Iterator[Registration]:
    principals = _principals(root)
    for entry in sorted(root.mailboxes.iterdir()):
        stashed = mail_address.stashed_address(entry.name)
        address = stashed or entry.name
        if not mail_address.is_address(address):
            continue
        yield Registration(
            registration_id=f"reg-{ids.hex_id(32)}",
            address=address,
            owner_principal_id=principals.get(address)
            or mail_address.default_principal(address.partition("@")[0]),
            status="stashed" if stashed else "active",
            mailbox_kind="symlink" if entry.is_symlink() else "in_root",
            mailbox_path=str(entry.readlink() if entry.is_symlink() else entry),
            mailbox_entry_path=str(entry),
            display_name=mail_address.OPERATOR_DISPLAY_NAME
            if address == mail_address.OPERATOR_ADDRESS
            else None,
            manifest_path_hint=None,
            role=mail_address.OPERATOR_ROLE if address == mail_address.OPERATOR_ADDRESS else None,
            created_at_utc=clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            deactivated_at_utc=None,
            replaced_by_registration_id=None,
        )


def _principals(root: Root) -> dict[str, str]:
    """Owner of each address according to the documents; the newest wins."""
    found = {mail_address.OPERATOR_ADDRESS: mail_address.OPERATOR_PRINCIPAL}
    for document in _documents(root, RepairReport()):
        for one in (document.sender, *document.to, *document.cc):
            found[one.address] = one.principal_id
    return found


def _documents(root: Root, report: RepairReport) -> Iterator[Document]:
    """Every message by time; within one second in the order of writing."""
    for folder in sorted(root.messages.iterdir()):
        if not folder.is_dir() or folder.is_symlink():
            continue
        for path in sorted(folder.glob("*.md"), key=lambda one: (one.name[:21], one.lstat().st_mtime_ns)):
            try:
                document = reading.load(path)
            except BadDocument as error:
                report.unreadable.append(str(error))
                continue
            if path == root.document(document.message_id, document.date):
                yield document
            else:
                report.unreadable.append(f"{path}: wrong location for {document.message_id}")


def _build(
    root: Root, fresh: Path, known: list[Registration], documents: Iterator[Document], report: RepairReport
) -> None:
    databases.create(fresh, "index")
    with databases.opened(fresh) as index:
        with databases.transaction(index):
            _enter_registrations(index, known)
            owners = {one.address: one for one in known if one.status == "active"}
            there = {}
            for document in documents:
                placement.insert_message(index, root, document, owners)
                there[document.message_id] = document
        for one in known:
            _repair_mailbox(root, index, one, there, report)
    report.messages, report.registrations = len(there), len(known)


def _enter_registrations(index: sqlite3.Connection, known: list[Registration]) -> None:
    for one in known:
        values = {name: getattr(one, name) for name in Registration.__dataclass_fields__}
        run(index, "put_registration", **values)
        run(index, "restore_registration", **values)
    for one in known:
        run(index, "replace", registration_id=one.registration_id, by=one.replaced_by_registration_id)


def _repair_mailbox(
    root: Root,
    index: sqlite3.Connection,
    owner: Registration,
    there: dict[str, Document],
    report: RepairReport,
) -> None:
    """Complete one mailbox: its folders, rows and links."""
    if not owner.folder.is_dir() and owner.status != "active":
        return
    if owner.status == "active":
        _set_aside_broken(owner, report)
        folders.make(root, owner.address, owner.folder)
    linked = _linked(owner, there, report)
    with databases.attached(index, owner.database, "box"), databases.transaction(index):
        boxes = _repair_rows(index, linked, there, report)
        for message_id, box in boxes.items():
            for name in _wanted_links(box, linked.get(message_id, set())):
                _repair_link(root, index, owner, there[message_id], name)


def _repair_rows(
    index: sqlite3.Connection, linked: dict[str, set[str]], there: dict[str, Document], report: RepairReport
) -> dict[str, str]:
    """Complete the rows of a mailbox; the box of each message."""
    boxes = dict(index.execute("SELECT message_id, box_name FROM box.message_state").fetchall())
    for message_id in [one for one in boxes if one not in there]:
        index.execute("DELETE FROM box.message_state WHERE message_id = ?", (message_id,))
        del boxes[message_id]
        report.forgotten += 1
    missing = [
        document for message_id, document in there.items() if message_id in linked.keys() - boxes.keys()
    ]
    for document in missing:
        box = _shown_in(linked[document.message_id])
        is_read = box in (SENT, ARCHIVE)
        placement.put(index, "box", document, box=box, is_read=is_read, is_archived=box == ARCHIVE)
        boxes[document.message_id] = box
        report.restored += 1
    for thread_id in {document.thread_id for document in missing}:
        run_box(index, "count_thread", "box", thread_id=thread_id)
    return boxes


def _shown_in(linked: set[str]) -> str:
    """The box of a message that has only links: the inbox first, the sender's copy last."""
    others = sorted(linked - {INBOX, SENT})
    return INBOX if INBOX in linked else others[0] if others else SENT


def _wanted_links(box: str, linked: set[str]) -> set[str]:
    """The boxes that need a link: mail to oneself has two."""
    return {box, SENT} if SENT in linked and box == INBOX else {box}


def _repair_link(
    root: Root, index: sqlite3.Connection, owner: Registration, document: Document, box: str
) -> None:
    link = placement.Projection(owner, box).link(document.message_id)
    if not link.is_symlink():
        files.private_folder(link.parent)
        link.symlink_to(root.document(document.message_id, document.date))
    run(
        index,
        "put_projection",
        registration_id=owner.registration_id,
        message_id=document.message_id,
        folder_name=box,
        projection_path=str(link),
    )


def _linked(owner: Registration, there: dict[str, Document], report: RepairReport) -> dict[str, set[str]]:
    """The boxes with a link to each message. Dangling links are removed."""
    found: dict[str, set[str]] = {}
    for box in owner.folder.iterdir():
        if not box.is_dir() or box.is_symlink():
            continue
        for link in box.glob("msg-*.md"):
            if link.stem in there and link.is_symlink():
                found.setdefault(link.stem, set()).add(box.name)
            elif link.is_symlink():
                link.unlink()
                report.forgotten += 1
    return found


def _set_aside_broken(owner: Registration, report: RepairReport) -> None:
    path = local_index(owner.folder)
    if not path.exists():
        return
    try:
        with databases.opened(path) as box:
            broken = box.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
    except MailTransportError:
        broken = True
    if broken:
        report.set_aside.append(str(_set_aside(path)))


def _set_aside(path: Path) -> Path:
    kept = path.with_name(f"{path.name}.corrupt-{clock.compact(clock.now())}-{ids.hex_id(4)}")
    path.rename(kept)
    return kept


def _put_in_place(root: Root, fresh: Path) -> None:
    # The old index's journal must go first: SQLite would apply it to the new index.
    journal = root.index.with_name(f"{root.index.name}-journal")
    journal.unlink(missing_ok=True)
    fresh.replace(root.index)
    files.sync_folder(root.path)


def _set_aside_staged(root: Root, report: RepairReport) -> None:
    """Rename unreadable files in `staging/` that look like interrupted deliveries."""
    for staged, reason in list(recovery.unreadable(root)):
        report.unreadable.append(reason)
        report.set_aside.append(str(_set_aside(staged)))


def _drop_staged_names(root: Root) -> None:
    """Remove the staged links of deliveries that the repair completed."""
    for staged in root.staging.glob("*.md"):
        if staged.lstat().st_nlink > 1:
            staged.unlink()
