"""Exports mailboxes to a self-contained folder: documents, attachments, boxes and message state."""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posthouse.contracts.mail_document import BadDocument
from posthouse.errors import Conflict
from posthouse.mailbox.filesystem import databases, locks, reading, registration, state
from posthouse.mailbox.filesystem.layout import Root, local_index
from posthouse.mailbox.filesystem.registration import NotRegistered, Registration
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import clock, files, ids

SymlinkMode = Literal["materialize", "preserve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Content of an export."""

    path: Path
    addresses: list[str]
    messages: int
    attachments: int


def export(
    root: Root, target: Path, addresses: Sequence[str] | None, *, symlink_mode: SymlinkMode = "materialize"
) -> Exported:
    """Copy the mailboxes of *addresses*, or all, atomically into the new folder *target*.

    `materialize` copies documents into the boxes, `preserve` links to the export's documents.

    Raises:
        Conflict: *target* exists and is not empty.
        NotRegistered: An address has no mailbox.
        MailTransportError: Copying failed.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Conflict(f"{target} exists; an export needs a new folder", code="export_exists")
    chosen = _chosen(root, addresses)
    building = target.with_name(f".{target.name}.{ids.hex_id(8)}.partial")
    try:
        with locks.hold(root, [one.address for one in chosen], index=True):
            done = _Copy(root, building, symlink_mode).run(chosen)
        if target.exists():
            target.rmdir()
        building.rename(target)
        files.sync_folder(target.parent)
    except (OSError, sqlite3.Error) as error:
        raise MailTransportError(f"{target} can't be written: {error}") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return Exported(
        path=target,
        addresses=[one.address for one in chosen],
        messages=done.messages,
        attachments=done.attachments,
    )


def _chosen(root: Root, addresses: Sequence[str] | None) -> list[Registration]:
    with databases.opened(root.index) as index:
        if addresses is None:
            return [one for one in registration.all_registrations(index) if one.status == "active"]
        found = {address: registration.active(index, address) for address in addresses}
    missing = [address for address, one in found.items() if one is None]
    if missing:
        raise NotRegistered(f"no mailbox is active for {', '.join(missing)} in {root.path}")
    return [one for one in found.values() if one is not None]


class _Copy:
    """One running export."""

    def __init__(self, root: Root, target: Path, symlink_mode: SymlinkMode) -> None:
        self._root = root
        self._target = target
        self._symlink_mode = symlink_mode
        self._copied: set[str] = set()
        self.messages = 0
        self.attachments = 0

    def run(self, chosen: Sequence[Registration]) -> "_Copy":
        files.private_folder(self._target)
        for owner in chosen:
            self._mailbox(owner)
        files.write_json(
            self._target / "manifest.json",
            {
                "schema_version": 1,
                "exported_at_utc": clock.iso_seconds(clock.now()),
                "mailbox_root": str(self._root.path),
                "addresses": [one.address for one in chosen],
                "message_count": self.messages,
                "attachment_count": self.attachments,
                "symlink_mode": self._symlink_mode,
            },
            durable=True,
        )
        return self

    def _mailbox(self, owner: Registration) -> None:
        folder = files.private_folder(self._target / "mailboxes" / owner.address)
        with databases.opened(owner.database) as box, closing(sqlite3.connect(local_index(folder))) as copy:
            box.backup(copy)
            rows = box.execute("SELECT message_id, created_at_utc, box_name FROM message_state").fetchall()
        for message_id, created_at_utc, box_name in rows:
            document = self._document(message_id, created_at_utc[:10])
            if document is not None:
                self._place(
                    document, files.private_folder(folder / state.checked_box(box_name)) / document.name
                )

    def _place(self, document: Path, place: Path) -> None:
        if self._symlink_mode == "preserve":
            place.symlink_to(os.path.relpath(document, place.parent))
        else:
            shutil.copyfile(document, place)

    def _document(self, message_id: str, date: str) -> Path | None:
        """The export's copy of a document; None when the root has lost it."""
        source = self._root.document(message_id, date)
        target = files.private_folder(self._target / "messages" / date) / source.name
        if message_id in self._copied:
            return target
        if not source.is_file() or source.is_symlink():
            return None
        shutil.copyfile(source, target)
        self._copied.add(message_id)
        self.messages += 1
        self._attachments(source)
        return target

    def _attachments(self, source: Path) -> None:
        try:
            named = reading.load(source).attachments
        except BadDocument:
            return  # the file is exported unchanged; its attachments are unknown
        for one in named:
            kept = self._root.managed / one.attachment_id
            if one.kind == "managed_copy" and "/" not in one.attachment_id and kept.is_dir():
                shutil.copytree(kept, self._target / "attachments" / "managed" / one.attachment_id)
                self.attachments += 1
