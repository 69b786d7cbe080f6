"""Removes files that dead processes left in a root."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from posthouse.mailbox.filesystem import databases, folders, locks
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTransportError

#: Far longer than any running delivery needs its files.
_GRACE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class StaleFile:
    """A path to remove, and the reason."""

    path: Path
    reason: str


def clean_up(root: Root, *, dry_run: bool = False, grace_seconds: float = _GRACE_SECONDS) -> list[StaleFile]:
    """Remove abandoned staged files, partly removed mailboxes and orphaned attachment copies.

    Raises:
        MailTransportError: The root can't be read.
    """
    before = time.time() - grace_seconds
    try:
        with locks.hold(root, [], index=True):
            found = [one for one in _stale_files(root) if one.path.lstat().st_mtime < before]
            for one in [] if dry_run else found:
                _remove(one.path)
    except OSError as error:
        raise MailTransportError(f"{root.path} can't be cleaned up: {error}") from error
    return found


def _stale_files(root: Root) -> list[StaleFile]:
    staged = [path for path in root.staging.glob("*.md") if path.lstat().st_nlink == 1]
    built = [*root.staging.glob("index-*.sqlite*"), *root.staging.glob(".*.tmp")]
    with databases.opened(root.index) as index:
        known = {row[0] for row in index.execute("SELECT attachment_id FROM attachments")}
    copies = [path for path in root.managed.iterdir() if path.name not in known]
    return [
        *(
            StaleFile(path, "staged by a process that died before it was delivered")
            for path in sorted(staged)
        ),
        *(StaleFile(path, "left by a repair that died") for path in sorted(built)),
        *(StaleFile(path, "a mailbox that was being removed") for path in folders.trash_folders(root)),
        *(StaleFile(path, "a copy of an attachment that no message names") for path in sorted(copies)),
    ]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
