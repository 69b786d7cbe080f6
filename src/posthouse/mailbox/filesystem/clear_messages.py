"""Removes every message of a root; mailboxes and their registrations stay."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from posthouse.mailbox.filesystem import databases, folders, locks, recovery, registration, search
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import crashpoints, files

_OF_INDEX = ("clear_state", "clear_projections", "clear_messages", "clear_attachments", "clear_threads")
_OF_BOX = ("clear", "clear_threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """Counts of what was removed, or would be with `dry_run`."""

    messages: int
    mailboxes: int
    attachments: int


def clear_messages(root: Root, *, dry_run: bool = False) -> Cleared:
    """Remove all messages and stored attachments from every mailbox, stashed ones included.

    Documents are removed last. After a crash some mailboxes are empty: a second call finishes the removal,
    or `repair` restores everything.

    Raises:
        MailTransportError: The root can't be read or written.
    """
    try:
        with databases.opened(root.index) as index:
            everyone = [one for one in registration.all_registrations(index) if one.database.is_file()]
        with locks.hold(root, [one.address for one in everyone], index=True):
            recovery.recover_locked(root)
            found = _counted(root, everyone)
            if not dry_run:
                _clear(root, everyone)
    except OSError as error:
        raise MailTransportError(f"{root.path} can't be cleared: {error}") from error
    return found


def _counted(root: Root, everyone: list[Registration]) -> Cleared:
    return Cleared(
        messages=sum(1 for _ in root.messages.glob("*/*.md")),
        mailboxes=len(everyone),
        attachments=sum(1 for _ in root.managed.iterdir()),
    )


def _clear(root: Root, everyone: list[Registration]) -> None:
    for owner in everyone:
        _empty(owner)
        crashpoints.reach("mailbox emptied")
    with databases.opened(root.index) as index, databases.transaction(index):
        for statement in _OF_INDEX:
            databases.run(index, statement)
    crashpoints.reach("index emptied")
    away = folders.trash_folder(root)
    _put_away(root.messages.iterdir(), away)
    _put_away(root.managed.iterdir(), away)
    for folder in (root.messages, root.managed):
        files.sync_folder(folder)
    crashpoints.reach("messages put away")
    shutil.rmtree(away, ignore_errors=True)  # `mailbox cleanup` removes what is left here


def _empty(owner: Registration) -> None:
    with databases.opened(owner.database) as box, databases.transaction(box):
        for statement in _OF_BOX:
            databases.run_box(box, statement, "main")
    folders.unlink_messages(owner.folder)
    search.forget(owner.folder)


def _put_away(entries: Iterable[Path], away: Path) -> None:
    for entry in list(entries):
        entry.rename(away / entry.name)
