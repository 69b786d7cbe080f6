"""Finding messages by their words: a full-text index beside each mailbox, derived from its messages.

It is brought up to date by whoever searches, and made again when it is missing or damaged. No other program
needs it or writes it.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.mailbox.filesystem import databases, reading
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.filesystem.registration import Registration
from posthouse.mailbox.filesystem.state import State
from posthouse.mailbox.transport import BadFilter, MailTrouble
from posthouse.support import locks

FILE = "posthouse-search.sqlite"
_LOCK = ".posthouse-search.lock"
_MAX_WORDS = 32
_MAX_CHARS = 1000
_MAX_RESULTS = 200
#: A body beyond this is found by its beginning.
_MAX_BODY_CHARS = 200_000
_BATCH = 500
#: How long the look itself may take; bringing the index up to date is not counted.
_QUERY_SECONDS = 5.0
_WAIT_SECONDS = 120.0
_WORD = re.compile(r'"([^"]*)"|(\S+)')


def search(root: Root, owner: Registration, words: str, *, box: str | None, limit: int) -> list[State]:
    """The messages of a mailbox that hold all of *words*, best first.

    `"a b"` is a phrase, `wor*` the beginning of a word.

    Raises:
        BadFilter: There is nothing to look for, or too much.
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
                    raise BadFilter(f"looking for {words[:60]!r} takes too long; give rarer words") from error
                forget(owner.folder)
                return _search(root, owner, path, query, box, limit)
    except (sqlite3.Error, OSError, locks.LockHeld) as error:
        raise MailTrouble(f"{path} can't be used: {error}") from error


def as_query(words: str) -> str:
    """*words* in the language of FTS5, every one quoted so that none is an operator.

    Raises:
        BadFilter: There is nothing to look for, or too much.
    """
    if len(words) > _MAX_CHARS:
        raise BadFilter(f"that is longer than {_MAX_CHARS} characters; give fewer words")
    terms = [_term(phrase or word) for phrase, word in _WORD.findall(words.replace("\0", " "))]
    kept = [term for term in terms if term]
    if not kept or len(kept) > _MAX_WORDS:
        raise BadFilter(f"give one to {_MAX_WORDS} words to look for")
    return " ".join(kept)


def _term(text: str) -> str:
    bare = text.rstrip("*").replace('"', " ").strip()
    if not any(character.isalnum() for character in bare):
        return ""
    return f'"{bare}"{"*" if text.endswith("*") else ""}'


def _search(
    root: Root, owner: Registration, path: Path, query: str, box: str | None, limit: int
) -> list[State]:
    with _opened(path, owner.database) as connection:
        _update(root, connection)
        deadline = time.monotonic() + _QUERY_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        rows = connection.execute(
            databases.statements("search")["search"], {"query": query, "box": box, "limit": limit}
        )
        return [State(*row) for row in rows]


@contextmanager
def _opened(path: Path, mailbox: Path) -> Iterator[sqlite3.Connection]:
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path.as_uri(), uri=True, isolation_level=None, timeout=15.0)) as connection:
        # What is derived needs no fsync: a torn file is made again.
        connection.execute("PRAGMA synchronous = OFF")
        for statement in databases.statements("search")["schema"].split(";\n"):
            connection.execute(statement)
        # For reading alone, SQLite would wait for the other end of a named pipe.
        connection.execute("ATTACH DATABASE ? AS box", (f"{mailbox.as_uri()}?mode=rw",))
        yield connection


def _update(root: Root, connection: sqlite3.Connection) -> None:
    """Take in what the mailbox has and the index has not; begin anew when something went away."""
    named = databases.statements("search")
    last = connection.execute(named["newest_known"]).fetchone() or (0, True)
    if last[1]:
        missing = connection.execute(named["arrived"], {"after": last[0]}).fetchall()
    else:
        missing = _looked_through(connection)
    for start in range(0, len(missing), _BATCH):
        connection.execute("BEGIN IMMEDIATE")
        for row in missing[start : start + _BATCH]:
            _take_in(root, connection, *row)
        connection.execute("COMMIT")


def _looked_through(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """What is missing in an index whose mailbox was made again: everything is compared."""
    named = databases.statements("search")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute(named["has_gone"]).fetchone():
        connection.execute(named["forget"])
        connection.execute(named["forget_texts"])
    connection.execute(named["renumber"])
    connection.execute("COMMIT")
    return connection.execute(named["missing"]).fetchall()


def _take_in(
    root: Root, connection: sqlite3.Connection, message_id: str, created_at_utc: str, arrival: int
) -> None:
    named = databases.statements("search")
    number = connection.execute(named["put"], (message_id, arrival)).lastrowid
    try:
        document = reading.load(root.document(message_id, created_at_utc[:10]))
    except (BadDocument, MailTrouble):
        return  # known and without words: a damaged message is not read again at every search
    connection.execute(named["put_text"], (number, document.subject, _people(document), _body(document)))


def _people(document: Document) -> str:
    everyone = (document.sender, *document.to, *document.cc)
    return " ".join(f"{one.address} {one.display_name or ''}" for one in everyone)


def _body(document: Document) -> str:
    labels = " ".join(f"{one.label or ''} {Path(one.path).name}" for one in document.attachments)
    return f"{document.body[:_MAX_BODY_CHARS]}\n{labels}"


def forget(folder: Path) -> None:
    """Remove the index of the mailbox in *folder*; the next search makes it again."""
    path = folder / FILE
    for suffix in ("", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
