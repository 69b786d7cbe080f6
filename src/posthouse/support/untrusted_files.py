"""Reads files that an agent or another program can write.

Such a file may be a named pipe, a device, a link or endless. Opening never blocks, only regular files are
read, and at most as many bytes as the caller allows. A missing file stays a `FileNotFoundError`.

Files that name commands, addresses or secrets are read by `read_own_bytes` and `read_own_json`, which refuse
files that another user could have written.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from posthouse.errors import InvalidInput
from posthouse.support import ownership

#: More than any of our own records holds.
MAX_RECORD_BYTES = 16 << 20
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class UnsafeFile(InvalidInput, ValueError):
    """The file is not a regular file, is reached through a link, too large, or others could write it.

    It was not read.
    """

    code = "unsafe_file"


class NotOwnFile(UnsafeFile):
    """Another user could have written the file. Fixing its mode or owner may make it acceptable."""


class BadJson(InvalidInput, ValueError):
    """The content is not JSON, or is nested too deeply."""

    code = "bad_json"


def open_descriptor(path: Path, *, follow: bool = False) -> int:
    """A descriptor that reads *path*, which is a regular file. The caller closes it.

    With *follow* the last part of the path may be a symbolic link: for paths that the user gives.

    Raises:
        UnsafeFile: It is a link, or not a regular file.
        OSError: It is missing, or not readable.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    except OSError as error:
        raise _refusal(path, error) or error from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise UnsafeFile(f"{path} is {_kind(mode)}, not a regular file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_file(path: Path, *, follow: bool = False) -> BinaryIO:
    """As `open_descriptor`, as a stream: for reading in chunks, or from the end."""
    return open(open_descriptor(path, follow=follow), "rb")


def open_output(path: Path, *, is_new: bool = False) -> int:
    """A descriptor that appends to *path*, for the output of a program; *is_new* truncates it first.

    The caller closes it. Links are followed, as in `rotation`.

    Raises:
        UnsafeFile: It is not a regular file.
        OSError: It can't be created or written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise _refusal(path, error) or error from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise UnsafeFile(f"{path} is {_kind(mode)}, not a regular file")
        if is_new:
            os.ftruncate(descriptor, 0)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_bytes(path: Path, *, max_bytes: int = MAX_RECORD_BYTES, follow: bool = False) -> bytes:
    """All of *path*.

    Raises:
        UnsafeFile: As `open_descriptor`, or it has more than *max_bytes*.
        OSError: It is missing, or not readable.
    """
    with open_file(path, follow=follow) as stream:
        return _content(path, stream, max_bytes)


def read_own_bytes(path: Path, *, max_bytes: int = MAX_RECORD_BYTES, follow: bool = False) -> bytes:
    """All of *path*, which only this user and root can change.

    Raises:
        NotOwnFile: Another user could have written it; the message names the remedy.
        UnsafeFile: As `read_bytes`.
        OSError: It is missing, or not readable.
    """
    with open_file(path, follow=follow) as stream:
        folder = (path.resolve() if follow else path).parent
        problem = ownership.problem(path, os.fstat(stream.fileno())) or ownership.folder_problem(folder)
        if problem is not None:
            raise NotOwnFile(problem)
        return _content(path, stream, max_bytes)


def _content(path: Path, stream: BinaryIO, max_bytes: int) -> bytes:
    content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise UnsafeFile(f"{path} has more than {max_bytes} bytes")
    return content


def read_text(path: Path, *, max_bytes: int = MAX_RECORD_BYTES, follow: bool = False) -> str:
    """All of *path* as UTF-8 text. Raises as `read_bytes`; `UnicodeDecodeError` is a `ValueError`."""
    return read_bytes(path, max_bytes=max_bytes, follow=follow).decode()


def read_tail(path: Path, *, max_bytes: int, follow: bool = False) -> tuple[int, bytes]:
    """The last *max_bytes* of *path*, and where in the file they begin. Raises as `open_descriptor`."""
    with open_file(path, follow=follow) as stream:
        start = max(0, stream.seek(0, os.SEEK_END) - max_bytes)
        stream.seek(start)
        return start, stream.read(max_bytes)


def read_json(path: Path, *, max_bytes: int = MAX_RECORD_BYTES) -> Any:
    """The JSON value in *path*.

    Raises:
        ValueError: It is not JSON (`BadJson`), or unsafe to read (`UnsafeFile`).
        OSError: It is missing, or not readable.
    """
    return _json(path, read_bytes(path, max_bytes=max_bytes))


def read_own_json(path: Path, *, max_bytes: int = MAX_RECORD_BYTES) -> Any:
    """The JSON value in *path*, which only this user and root can change. Raises as `read_json`."""
    return _json(path, read_own_bytes(path, max_bytes=max_bytes))


def _json(path: Path, content: bytes) -> Any:
    try:
        return decode_json(content)
    except BadJson as error:
        raise BadJson(f"{path} is not JSON: {error}") from error


def decode_json(
    content: bytes | str,
    *,
    parse_constant: Callable[[str], Any] | None = None,
    max_depth: int | None = None,
) -> Any:
    """*content* as JSON; any fault in it is a `BadJson`.

    *max_depth* keeps later recursion over the value within the stack.

    Raises:
        BadJson: It is not JSON, not UTF-8, or nested too deeply.
    """
    import json  # imported late, to keep the command line's start fast

    try:
        value = json.loads(content, parse_constant=parse_constant)
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except ValueError as error:
        raise BadJson(str(error)) from error
    if max_depth is not None and _brackets(content) > max_depth and _depth(value) > max_depth:
        raise BadJson("nested too deeply")
    return value


def _brackets(content: bytes | str) -> int:
    if isinstance(content, str):
        return content.count("[") + content.count("{")
    return content.count(b"[") + content.count(b"{")


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level := [inner for outer in level for inner in _inner(outer)]:
        depth += 1
    return depth


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refusal(path: Path, error: OSError) -> UnsafeFile | None:
    if error.errno == errno.ELOOP:
        return UnsafeFile(f"{path} is a symbolic link, which is not followed")
    if error.errno == errno.ENXIO:
        return UnsafeFile(f"{path} is a socket, a device or a named pipe, not a regular file")
    return None


def _kind(mode: int) -> str:
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "something else")
