"""The folder of one mailbox: its boxes, its database, and the symlink to a private folder."""

import stat
from contextlib import suppress
from pathlib import Path

from posthouse.mailbox.filesystem import databases, layout
from posthouse.mailbox.filesystem.layout import BOXES, Root
from posthouse.mailbox.transport import MailboxUnusable, MailTransportError
from posthouse.support import files, ids, ownership

_TRASH_PREFIX = "removed-"


def make(root: Root, address: str, folder: Path) -> None:
    """Create or complete the mailbox of *address* at *folder*, durably.

    Raises:
        MailboxUnusable: The path has other content.
        MailTransportError: The mailbox can't be created.
    """
    entry = root.entry(address)
    try:
        _refuse_other_content(entry, folder)
        files.private_folder(folder)
        for box in BOXES:
            files.private_folder(folder / box)
        databases.create(layout.local_index(folder), "box")
        files.sync_folder(folder)
        if entry != folder and not entry.is_symlink():
            entry.symlink_to(folder)
        files.sync_folder(root.mailboxes)
    except OSError as error:
        raise MailTransportError(f"the mailbox of {address} can't be created at {folder}: {error}") from error


def is_whole(folder: Path) -> bool:
    """Whether the mailbox is complete, so that mail can be delivered."""
    return layout.local_index(folder).is_file() and all((folder / box).is_dir() for box in BOXES)


def trash_folder(root: Root) -> Path:
    """Create a folder for data that is about to be removed."""
    return files.private_folder(root.staging / f"{_TRASH_PREFIX}{ids.hex_id(32)}")


def trash_folders(root: Root) -> list[Path]:
    """Folders of unfinished removals."""
    return sorted(root.staging.glob(f"{_TRASH_PREFIX}*"))


def empty(folder: Path, away: Path) -> None:
    """Remove the mailbox from a private *folder*: its database is moved to *away*, its links are deleted."""
    database = layout.local_index(folder)
    for name in (database.name, f"{database.name}-journal"):
        with suppress(FileNotFoundError):
            _move(folder / name, away / name)
    unlink_messages(folder)


def unlink_messages(folder: Path) -> None:
    """Remove only the message links, from every box of a mailbox."""
    for box in _boxes(folder):
        for link in box.iterdir():
            if link.is_symlink():
                link.unlink()


def _boxes(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return [one for one in folder.iterdir() if one.is_dir() and not one.is_symlink()]
    return []


def _move(source: Path, target: Path) -> None:
    """Move a file, or remove it when *target* is on another file system."""
    try:
        source.rename(target)
    except FileNotFoundError:
        raise
    except OSError:
        source.unlink()


def _refuse_other_content(entry: Path, folder: Path) -> None:
    is_taken = entry != folder and (entry.is_symlink() or entry.exists())
    if is_taken and not (entry.is_symlink() and entry.readlink() == folder):
        raise MailboxUnusable(f"{entry} exists and does not point to {folder}")
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise MailboxUnusable(f"{folder} exists and is not a real folder")
    if (problem := ownership.problem(folder, found)) is not None:
        raise MailboxUnusable(problem)
