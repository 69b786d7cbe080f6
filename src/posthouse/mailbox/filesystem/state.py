"""Message state of a mailbox: read, answered, and the box."""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from posthouse.errors import InvalidInput
from posthouse.mailbox.filesystem import databases, locks
from posthouse.mailbox.filesystem.databases import run, run_box
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.message import ARCHIVE, MailFilter
from posthouse.mailbox.transport import MailTransportError, MessageNotFound
from posthouse.support import crashpoints, files

_MAX_BOX_BYTES = 120
_FILTERS: dict[str, dict[object, str]] = {
    "read_state": {"read": "AND is_read = 1", "unread": "AND is_read = 0"},
    "answered_state": {"answered": "AND is_answered = 1", "unanswered": "AND is_answered = 0"},
    "archived": {True: "AND is_archived = 1", False: "AND is_archived = 0"},
}


@dataclass(frozen=True, slots=True)
class MessageState:
    """A row of a mailbox."""

    message_id: str
    thread_id: str
    created_at_utc: str
    is_read: int
    is_answered: int
    is_archived: int
    box_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """Changes to the marks of a message. None leaves a mark unchanged."""

    is_read: bool | None = None
    is_answered: bool | None = None
    is_starred: bool | None = None
    is_deleted: bool | None = None


def checked_box(name: str) -> str:
    """Return *name* trimmed if it is a valid box name. It becomes a folder name.

    Raises:
        InvalidInput: The name is invalid.
    """
    name = name.strip()
    if not name or name in (".", "..") or "/" in name or "\0" in name or len(name.encode()) > _MAX_BOX_BYTES:
        raise InvalidInput(f"{name[:80]!r} can't be the name of a box", code="bad_box")
    return name


def listing(owner: Registration, wanted: MailFilter, *, since: str) -> list[MessageState]:
    """The newest matching rows, newest first."""
    filters = " ".join(known.get(getattr(wanted, name), "") for name, known in _FILTERS.items())
    statement = databases.statements("box")["listing"].replace("{box}", "main").replace("{filters}", filters)
    limit = -1 if wanted.limit is None else wanted.limit
    with databases.opened(owner.database) as box:
        rows = box.execute(statement, {"box": wanted.box, "since": since, "limit": limit})
        return [MessageState(*row) for row in rows]


def thread(owner: Registration, thread_id: str, *, limit: int) -> list[MessageState]:
    """The newest rows of a thread, newest first."""
    with databases.opened(owner.database) as box:
        return [
            MessageState(*row) for row in run_box(box, "thread", "main", thread_id=thread_id, limit=limit)
        ]


def states(owner: Registration, message_ids: Sequence[str]) -> list[MessageState]:
    """The rows of *message_ids*, in that order.

    Raises:
        MessageNotFound: One is not in the mailbox.
    """
    with databases.opened(owner.database) as box:
        return [_state(box, "main", message_id, owner) for message_id in message_ids]


def change(root: Root, owner: Registration, message_ids: Sequence[str], wanted: StateChange) -> None:
    """Change the marks of all messages or, when one is missing, of none.

    Raises:
        MessageNotFound: One is not in the mailbox.
    """
    with (
        locks.hold(root, [owner.address], index=False),
        databases.opened(owner.database) as box,
        databases.transaction(box),
    ):
        for message_id in message_ids:
            apply(box, "main", _state(box, "main", message_id, owner), wanted)
        crashpoints.reach("marks changed")


def apply(connection: sqlite3.Connection, name: str, row: MessageState, wanted: StateChange) -> None:
    """Change the marks of one message in the mailbox attached as *name*."""
    marks = {field: getattr(wanted, field) for field in StateChange.__dataclass_fields__}
    values = {field: None if mark is None else int(mark) for field, mark in marks.items()}
    run_box(connection, "change", name, message_id=row.message_id, **values)
    run_box(connection, "count_thread", name, thread_id=row.thread_id)


def move(
    root: Root,
    owner: Registration,
    message_ids: Sequence[str],
    box_name: str,
    wanted: StateChange | None = None,
) -> None:
    """Move all messages or none into a box, and change their marks in the same commit.

    The new link is created before the commit and the old one removed after it, so a message always has one.

    Raises:
        MessageNotFound: One is not in the mailbox.
        InvalidInput: The box name is invalid.
    """
    box_name = checked_box(box_name)
    with (
        locks.hold(root, [owner.address], index=True),
        databases.opened(root.index) as index,
        databases.attached(index, owner.database, "box"),
    ):
        rows = [_state(index, "box", message_id, owner) for message_id in message_ids]
        old_links = [_links(index, owner, row.message_id) for row in rows]
        new_links = [_make_link(root, owner, row, box_name) for row in rows]
        crashpoints.reach("moved links made")
        with databases.transaction(index):
            for row, link in zip(rows, new_links, strict=True):
                _enter_move(index, owner, row, link)
                if wanted is not None:
                    apply(index, "box", row, wanted)
        crashpoints.reach("move committed")
        _remove_links(owner, {one for links in old_links for one in links} - set(new_links))


def _enter_move(index: sqlite3.Connection, owner: Registration, row: MessageState, link: Path) -> None:
    box_name = link.parent.name
    run(index, "drop_projections_of", registration_id=owner.registration_id, message_id=row.message_id)
    run(
        index,
        "put_projection",
        registration_id=owner.registration_id,
        message_id=row.message_id,
        folder_name=box_name,
        projection_path=str(link),
    )
    is_archived = int(box_name == ARCHIVE)
    run_box(index, "move", "box", message_id=row.message_id, box_name=box_name, is_archived=is_archived)
    run_box(index, "count_thread", "box", thread_id=row.thread_id)


def _state(connection: sqlite3.Connection, name: str, message_id: str, owner: Registration) -> MessageState:
    row = run_box(connection, "state", name, message_id=message_id).fetchone()
    if row is None:
        raise MessageNotFound(f"the mailbox of {owner.address} has no message {message_id}")
    return MessageState(*row)


def _links(index: sqlite3.Connection, owner: Registration, message_id: str) -> list[Path]:
    rows = run(index, "projections_of", registration_id=owner.registration_id, message_id=message_id)
    return [Path(row[0]) for row in rows]


def _make_link(root: Root, owner: Registration, row: MessageState, box_name: str) -> Path:
    folder = owner.folder / box_name
    link = folder / f"{row.message_id}.md"
    try:
        files.private_folder(folder)
        if folder.is_symlink():
            raise MailTransportError(f"{folder} is a link and not a box")
        with suppress(FileExistsError):
            link.symlink_to(root.document(row.message_id, row.created_at_utc[:10]))
        files.sync_folder(folder)
    except OSError as error:
        raise MailTransportError(f"{link} can't be created: {error}") from error
    return link


def _remove_links(owner: Registration, links: set[Path]) -> None:
    """Remove only symlinks inside the mailbox: other programs also write the index."""
    for link in links:
        if link.is_symlink() and link.parent.parent == owner.folder:
            link.unlink(missing_ok=True)
