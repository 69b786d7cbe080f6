"""Full-text search: an index file per mailbox, derived from its messages.

Each search updates the index first, and rebuilds it when it is missing or corrupt. No other program uses it.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.errors import InvalidInput
from posthouse.mailbox.filesystem import databases, reading
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.filesystem.state import MessageState
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import locks

FILE = "posthouse-search.sqlite"
_LOCK = ".posthouse-search.lock"
_MAX_WORDS = 32
_MAX_CHARS = 1000
_MAX_RESULTS = 200
#: Only the beginning of a longer body is indexed.
_MAX_BODY_CHARS = 200_000
_BATCH = 500
#: Time limit of the query, without the index update.
_QUERY_SECONDS = 5.0
_WAIT_SECONDS = 120.0
_WORD = re.compile(r'"([^"]*)"|(\S+)')


def search(root: Root, owner: Registration, words: str, *, box: str | None, limit: int) -> list[MessageState]:
    """The messages of a mailbox with all *words*, best match first.

    `"a b"` is a phrase, `wor*` a prefix.

    Raises:
        InvalidInput: The query is empty, too long or too slow.
    """
    query = as_query(words)
    limit = max(1, min(limit, _MAX_RESULTS))
    path = owner.folder / FILE
    try:
        with locks.hold(owner.folder / _LOCK, wait_seconds=_WAIT_SECONDS):
            try:
                return _search(root, owner, path, query, box, limit)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and "interrupted" in str(error):
                    raise InvalidInput(
                        f"looking for {words[:60]!r} takes too long; give rarer words", code="bad_mail_filter"
                    ) from error
                forget(owner.folder)
                return _search(root, owner, path, query, box, limit)
    except (sqlite3.Error, OSError, locks.LockHeld) as error:
        raise MailTransportError(f"{path} can't be used: {error}") from error


def as_query(words: str) -> str:
    """*words* as an FTS5 query, each quoted so that none is an operator.

    Raises:
        InvalidInput: The query is empty or too long.
    """
    if len(words) > _MAX_CHARS:
        raise InvalidInput(
            f"that is longer than {_MAX_CHARS} characters; give fewer words", code="bad_mail_filter"
        )
    terms = [_term(phrase or word) for phrase, word in _WORD.findall(words.replace("\0", " "))]
    kept = [term for term in terms if term]
    if not kept or len(kept) > _MAX_WORDS:
        raise InvalidInput(f"give one to {_MAX_WORDS} words to look for", code="bad_mail_filter")
    return " ".join(kept)


def _term(text: str) -> str:
    bare = text.rstrip("*").replace('"', " ").strip()
    if not any(character.isalnum() for character in bare):
        return ""
    return f'"{bare}"{"*" if text.endswith("*") else ""}'


def _search(
    root: Root, owner: Registration, path: Path, query: str, box: str | None, limit: int
) -> list[MessageState]:
    with _opened(path, owner.database) as connection:
        _update(root, connection)
        deadline = time.monotonic() + _QUERY_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        rows = connection.execute(
            databases.statements("search")["search"], {"query": query, "box": box, "limit": limit}
        )
        return [MessageState(*row) for row in rows]


@contextmanager
def _opened(path: Path, mailbox: Path) -> Iterator[sqlite3.Connection]:
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path.as_uri(), uri=True, isolation_level=None, timeout=15.0)) as connection:
        # Derived data needs no fsync: a torn file is rebuilt.
        connection.execute("PRAGMA synchronous = OFF")
        for statement in databases.statements("search")["schema"].split(";\n"):
            connection.execute(statement)
        # In read-only mode SQLite would block on a named pipe.
        connection.execute("ATTACH DATABASE ? AS box", (f"{mailbox.as_uri()}?mode=rw",))
        yield connection


def _update(root: Root, connection: sqlite3.Connection) -> None:
    """Index missing messages; rebuild the index when messages disappeared."""
    named = databases.statements("search")
    last = connection.execute(named["newest_known"]).fetchone() or (0, True)
    if last[1]:
        missing = connection.execute(named["arrived"], {"after": last[0]}).fetchall()
    else:
        missing = _compare_all(connection)
    for start in range(0, len(missing), _BATCH):
        connection.execute("BEGIN IMMEDIATE")
        for row in missing[start : start + _BATCH]:
            _index_message(root, connection, *row)
        connection.execute("COMMIT")


def _compare_all(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Missing messages of an index whose mailbox was rebuilt, found by a full comparison."""
    named = databases.statements("search")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute(named["has_gone"]).fetchone():
        connection.execute(named["forget"])
        connection.execute(named["forget_texts"])
    connection.execute(named["renumber"])
    connection.execute("COMMIT")
    return connection.execute(named["missing"]).fetchall()


def _index_message(
    root: Root, connection: sqlite3.Connection, message_id: str, created_at_utc: str, arrival: int
) -> None:
    named = databases.statements("search")
    number = connection.execute(named["put"], (message_id, arrival)).lastrowid
    try:
        document = reading.load(root.document(message_id, created_at_utc[:10]))
    except (BadDocument, MailTransportError):
        return  # indexed without text, so that a damaged message is not read again at every search
    connection.execute(named["put_text"], (number, document.subject, _people(document), _body(document)))


def _people(document: Document) -> str:
    everyone = (document.sender, *document.to, *document.cc)
    return " ".join(f"{one.address} {one.display_name or ''}" for one in everyone)


def _body(document: Document) -> str:
    labels = " ".join(f"{one.label or ''} {Path(one.path).name}" for one in document.attachments)
    return f"{document.body[:_MAX_BODY_CHARS]}\n{labels}"


def forget(folder: Path) -> None:
    """Remove the index of the mailbox in *folder*; the next search rebuilds it."""
    path = folder / FILE
    for suffix in ("", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
