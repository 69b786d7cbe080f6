"""The databases of a mailbox root: connections with durable commits, and their statements.

They use the contract's rollback journal. A connection may attach several files; its commit is then atomic
across all of them.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from posthouse.mailbox.transport import MailTransportError

_MARK = re.compile(r"^-- (\w+) --$", re.MULTILINE)
#: Only a commit of another connection blocks.
_BUSY_SECONDS = 15.0
#: SQLite's own limit.
MAX_ATTACHED = 10


@cache
def statements(name: str) -> dict[str, str]:
    """Every statement of `<name>.sql`, cached."""
    text = (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
    parts = _MARK.split(text)[1:]
    return {mark: body.strip() for mark, body in zip(parts[::2], parts[1::2], strict=True)}


def create(path: Path, name: str) -> None:
    """Create or complete the database at *path* with the schema of `<name>.sql`.

    Raises:
        MailTransportError: It can't be created or is corrupt.
    """
    try:
        path.touch(mode=0o600)  # SQLite would create it readable by others
        connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements(name)["schema"].split(";\n"):
                connection.execute(statement)
            connection.execute("COMMIT")
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise MailTransportError(f"{path} can't be used: {error}") from error


def complete(path: Path) -> None:
    """Add missing schema to a mailbox database of another program. One query when nothing is missing.

    Raises:
        MailTransportError: It can't be read or written.
    """
    with opened(path) as connection:
        made = connection.execute(statements("box")["is_complete"]).fetchone()
    if made is None:
        create(path, "box")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to an existing database, closed after the body.

    A commit also makes the removal of its journal durable: otherwise the journal could reappear after a
    power failure and roll the commit back.

    Raises:
        MailTransportError: The file is missing or corrupt, or the body raised an SQLite error.
    """
    try:
        uri = f"{path.as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
        try:
            connection.row_factory = sqlite3.Row
            connection.executescript("PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON")
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise MailTransportError(f"{path} can't be used: {error}") from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the body's writes; roll back when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def attached(connection: sqlite3.Connection, path: Path, name: str) -> Iterator[str]:
    """Attach the database at *path* as *name* for the body.

    Raises:
        MailTransportError: The file is missing.
    """
    if not path.is_file():
        raise MailTransportError(f"{path} is missing; `mailbox repair` recreates it")
    connection.execute(f"ATTACH DATABASE ? AS {name}", (f"{path.as_uri()}?mode=rw",))
    connection.execute(f"PRAGMA {name}.synchronous = EXTRA")
    try:
        yield name
    finally:
        connection.execute(f"DETACH DATABASE {name}")


def run(connection: sqlite3.Connection, statement: str, **parameters: object) -> sqlite3.Cursor:
    """Execute a statement of `index.sql`."""
    return connection.execute(statements("index")[statement], parameters)


def run_box(connection: sqlite3.Connection, statement: str, box: str, **parameters: object) -> sqlite3.Cursor:
    """Execute a statement of `box.sql` on the database attached as *box*."""
    return connection.execute(statements("box")[statement].replace("{box}", box), parameters)
