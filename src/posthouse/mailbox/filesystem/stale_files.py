"""What dead processes left in a root that nobody will come back for."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from posthouse.mailbox.filesystem import databases, folders, locks
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTrouble

#: Whoever is sending now is done with its files long before.
_GRACE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Litter:
    """Something to remove, and why nobody misses it."""

    path: Path
    reason: str


def clean_up(root: Root, *, dry_run: bool = False, grace_seconds: float = _GRACE_SECONDS) -> list[Litter]:
    """Remove staged files, half-removed mailboxes and copies of attachments that belong to nothing.

    Raises:
        MailTrouble: The root can't be read.
    """
    before = time.time() - grace_seconds
    try:
        with locks.hold(root, [], index=True):
            found = [one for one in _litter(root) if one.path.lstat().st_mtime < before]
            for one in [] if dry_run else found:
                _remove(one.path)
    except OSError as error:
        raise MailTrouble(f"{root.path} can't be cleaned up: {error}") from error
    return found


def _litter(root: Root) -> list[Litter]:
    staged = [path for path in root.staging.glob("*.md") if path.lstat().st_nlink == 1]
    built = [*root.staging.glob("index-*.sqlite*"), *root.staging.glob(".*.tmp")]
    with databases.opened(root.index) as index:
        known = {row[0] for row in index.execute("SELECT attachment_id FROM attachments")}
    copies = [path for path in root.managed.iterdir() if path.name not in known]
    return [
        *(Litter(path, "staged by a process that died before it was delivered") for path in sorted(staged)),
        *(Litter(path, "left by a repair that died") for path in sorted(built)),
        *(Litter(path, "a mailbox that was being removed") for path in folders.in_limbo(root)),
        *(Litter(path, "a copy of an attachment that no message names") for path in sorted(copies)),
    ]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
