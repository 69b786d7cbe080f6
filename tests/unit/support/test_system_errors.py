"""What the operating system and SQLite refuse, in words that say what to do."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from posthouse.support import files, system_errors


@pytest.mark.parametrize(
    ("number", "told", "is_plain"),
    [
        (errno.ENOSPC, "no space left on device: /d/f; free some space, then try again", True),
        (errno.EDQUOT, "disk quota exceeded: /d/f; free some space, then try again", True),
        (errno.EFBIG, "file size limit exceeded: /d/f; raise the limit (`ulimit -f`), then try again", True),
        (errno.EROFS, "read-only file system: /d/f; mount it writable, then try again", True),
        (errno.EMFILE, "too many open files: /d/f; raise the limit (`ulimit -n`), then try again", True),
        (
            errno.EACCES,
            "permission denied: /d/f; check the owner and mode of the path, then try again",
            False,
        ),
        (
            errno.ENOENT,
            "no such file or folder: /d/f; it may have been removed, or its file system unmounted",
            False,
        ),
        (errno.EIO, "input/output error: /d/f; check the disk and the kernel's log (`dmesg`)", False),
    ],
)
def test_each_refusal_names_the_path_and_the_remedy(number: int, told: str, *, is_plain: bool) -> None:
    """Refusals that may be a fault of ours are worth a log; the others are not."""
    refused = system_errors.translate(OSError(number, os.strerror(number), "/d/f"))

    assert refused is not None
    assert (str(refused), refused.is_environmental, refused.code) == (told, is_plain, "system_refused")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        OSError("no number"),
        ConnectionResetError(errno.ECONNRESET, "reset"),
        BrokenPipeError(errno.EPIPE, "pipe"),
        sqlite3.ProgrammingError("closed"),
    ],
)
def test_errors_that_say_nothing_of_files_are_left_alone(error: Exception) -> None:
    """They are faults of ours, or of a peer."""
    assert system_errors.translate(error) is None


def test_a_full_or_read_only_database_is_told_as_such(tmp_path: Path) -> None:
    """SQLite's own error codes are read."""
    path = tmp_path / "data.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    told = []
    for pragma in ("max_page_count = 1", "query_only = on"):
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA {pragma}")
        with pytest.raises(sqlite3.OperationalError) as raised:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
        connection.close()
        told.append(str(system_errors.translate(raised.value)))

    assert told == [
        "no space left on device; free some space, then try again",
        "read-only file system; mount it writable, then try again",
    ]


def test_a_write_that_fails_names_the_file_and_not_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """write(2) and fsync(2) carry no path, and nobody knows the temporary name."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # a stand-in: a full disk needs root
    missing = tmp_path / "gone"
    told = []
    for path in (tmp_path / "state.json", missing / "state.json"):
        with pytest.raises(OSError) as raised:
            files.write_json(path, {}, durable=True)
        told.append(str(system_errors.translate(raised.value)).split(";", maxsplit=1)[0])

    assert told == [
        f"no space left on device: {tmp_path}/state.json",
        f"no such file or folder: {missing}/state.json",
    ]
