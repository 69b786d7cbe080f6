"""The two databases of a mailbox root: connections that commit to disk, and the statements they are sent.

Both keep the contract's rollback journal. One connection may have several files attached; what it commits
then is in all of them or in none, whoever opens them next.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from posthouse.mailbox.transport import MailTrouble

_MARK = re.compile(r"^-- (\w+) --$", re.MULTILINE)
#: Only somebody else's commit can make us wait.
_BUSY_SECONDS = 15.0
#: SQLite's own limit.
MAX_ATTACHED = 10


@cache
def statements(name: str) -> dict[str, str]:
    """Every statement of `<name>.sql`. Read once; nobody changes it."""
    text = (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
    parts = _MARK.split(text)[1:]
    return {mark: body.strip() for mark, body in zip(parts[::2], parts[1::2], strict=True)}


def create(path: Path, name: str) -> None:
    """Make the database at *path*, or what is missing in it, with the schema of `<name>.sql`.

    Raises:
        MailTrouble: It can't be made or is broken.
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
        raise MailTrouble(f"{path} can't be used: {error}") from error


def complete(path: Path) -> None:
    """Add to a mailbox's database what another program's lacks. Costs one look when nothing is missing.

    Raises:
        MailTrouble: It can't be read or written.
    """
    with opened(path) as connection:
        made = connection.execute(statements("box")["is_complete"]).fetchone()
    if made is None:
        create(path, "box")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to an existing database, closed after the body.

    A commit that returned has also made the removal of its journal durable: without that, a power cut could
    bring the journal back, and the journal would take the commit back.

    Raises:
        MailTrouble: The file is not there or broken, or the body met an error of SQLite.
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
        raise MailTrouble(f"{path} can't be used: {error}") from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the body wrote, or nothing when it raises."""
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
    """Have the database at *path* under *name* for the body.

    Raises:
        MailTrouble: It is not there.
    """
    if not path.is_file():
        raise MailTrouble(f"{path} is missing; `mailbox repair` makes it again")
    connection.execute(f"ATTACH DATABASE ? AS {name}", (f"{path.as_uri()}?mode=rw",))
    connection.execute(f"PRAGMA {name}.synchronous = EXTRA")
    try:
        yield name
    finally:
        connection.execute(f"DETACH DATABASE {name}")


def run(connection: sqlite3.Connection, statement: str, **parameters: object) -> sqlite3.Cursor:
    """Send a statement of `index.sql`."""
    return connection.execute(statements("index")[statement], parameters)


def run_box(connection: sqlite3.Connection, statement: str, box: str, **parameters: object) -> sqlite3.Cursor:
    """Send a statement of `box.sql` to the database that is open as *box*."""
    return connection.execute(statements("box")[statement].replace("{box}", box), parameters)
