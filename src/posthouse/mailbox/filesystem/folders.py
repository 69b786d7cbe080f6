"""The folder of one mailbox: its boxes, its database, and the link that leads to a private one."""

import stat
from contextlib import suppress
from pathlib import Path

from posthouse.mailbox.filesystem import databases, layout
from posthouse.mailbox.filesystem.layout import BOXES, Root
from posthouse.mailbox.transport import MailboxUnusable, MailTrouble
from posthouse.support import files, ids, ownership

_LIMBO = "removed-"


def make(root: Root, address: str, folder: Path) -> None:
    """Make the mailbox of *address* at *folder*, or what is missing of it, durably.

    Raises:
        MailboxUnusable: Something else lies there.
        MailTrouble: It can't be made.
    """
    entry = root.entry(address)
    try:
        _refuse_strangers(entry, folder)
        files.private_folder(folder)
        for box in BOXES:
            files.private_folder(folder / box)
        databases.create(layout.local_index(folder), "box")
        files.sync_folder(folder)
        if entry != folder and not entry.is_symlink():
            entry.symlink_to(folder)
        files.sync_folder(root.mailboxes)
    except OSError as error:
        raise MailTrouble(f"the mailbox of {address} can't be made at {folder}: {error}") from error


def is_whole(folder: Path) -> bool:
    """Whether mail can be delivered there."""
    return layout.local_index(folder).is_file() and all((folder / box).is_dir() for box in BOXES)


def limbo(root: Root) -> Path:
    """A new folder for what is about to be removed."""
    return files.private_folder(root.staging / f"{_LIMBO}{ids.hex_id(32)}")


def in_limbo(root: Root) -> list[Path]:
    """What somebody began to remove."""
    return sorted(root.staging.glob(f"{_LIMBO}*"))


def empty(folder: Path, away: Path) -> None:
    """Move what a mailbox consists of out of a private *folder*, and nothing else."""
    database = layout.local_index(folder)
    for name in (database.name, f"{database.name}-journal"):
        with suppress(FileNotFoundError):
            _move(folder / name, away / name)
    unlink_messages(folder)


def unlink_messages(folder: Path) -> None:
    """Remove the links to messages from every box of a mailbox, and nothing else."""
    for box in _boxes(folder):
        for link in box.iterdir():
            if link.is_symlink():
                link.unlink()


def _boxes(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return [one for one in folder.iterdir() if one.is_dir() and not one.is_symlink()]
    return []


def _move(source: Path, target: Path) -> None:
    """A private folder may be on another file system, where a rename does not reach: there it is removed."""
    try:
        source.rename(target)
    except FileNotFoundError:
        raise
    except OSError:
        source.unlink()


def _refuse_strangers(entry: Path, folder: Path) -> None:
    is_taken = entry != folder and (entry.is_symlink() or entry.exists())
    if is_taken and not (entry.is_symlink() and entry.readlink() == folder):
        raise MailboxUnusable(f"{entry} is there already and does not lead to {folder}")
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise MailboxUnusable(f"{folder} is there already and is no folder of its own")
    if (problem := ownership.problem(folder, found)) is not None:
        raise MailboxUnusable(problem)
