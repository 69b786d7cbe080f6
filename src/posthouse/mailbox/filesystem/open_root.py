"""Opens a mailbox root and recovers interrupted deliveries."""

import sqlite3
from pathlib import Path

from posthouse.mailbox.filesystem import databases, layout, recovery
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailboxUnusable, MailTransportError


def open_root(path: Path) -> Root:
    """The mailbox root at *path*. Interrupted deliveries are completed or undone first.

    Raises:
        MailboxUnusable: It is not a trusted root of a supported version.
        MailTransportError: It can't be read.
    """
    root = Root(path)
    layout.verify(root)
    _verify_index(root)
    recovery.recover_all(root)
    return root


def _verify_index(root: Root) -> None:
    if not root.index.is_file():
        raise MailboxUnusable(f"{root.index} is missing; `mailbox repair` rebuilds it from the messages")
    try:
        with databases.opened(root.index) as index:
            tables = {row[0] for row in index.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except MailTransportError as error:
        if isinstance(error.__cause__, sqlite3.DatabaseError) and not isinstance(
            error.__cause__, sqlite3.OperationalError
        ):
            raise MailboxUnusable(f"{error}; `mailbox repair` rebuilds it from the messages") from error
        raise
    if "principals" in tables:
        raise MailboxUnusable(f"{root.path} is of an older layout: its index has a table of principals")
    if "mailbox_registrations" not in tables:
        raise MailboxUnusable(f"{root.index} is not a mailbox index; `mailbox repair` recreates it")
