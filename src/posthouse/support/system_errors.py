"""Translates errors of the operating system and SQLite into `Unavailable`: reason, path, remedy.

Used at the edges (HTTP, the command line, process entries). Modules in between let `OSError` pass.
"""

import errno
import os
import re
from dataclasses import dataclass

from posthouse.errors import Unavailable


@dataclass(frozen=True, slots=True)
class _Kind:
    reason: str
    remedy: str
    #: Caused by the machine rather than by our code: its traceback is not logged.
    is_environmental: bool = True


_FULL = _Kind("no space left on device", "free some space, then try again")
_QUOTA = _Kind("disk quota exceeded", "free some space, then try again")
_FILE_LIMIT = _Kind("file size limit exceeded", "raise the limit (`ulimit -f`), then try again")
_READ_ONLY = _Kind("read-only file system", "mount it writable, then try again")
_DENIED = _Kind(
    "permission denied", "check the owner and mode of the path, then try again", is_environmental=False
)
_GONE = _Kind(
    "no such file or folder", "it may have been removed, or its file system unmounted", is_environmental=False
)
_OPEN_FILES = _Kind("too many open files", "raise the limit (`ulimit -n`), then try again")
_IO = _Kind("input/output error", "check the disk and the kernel's log (`dmesg`)", is_environmental=False)

_KINDS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _QUOTA,
    errno.EFBIG: _FILE_LIMIT,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.ENOENT: _GONE,
    errno.ENOTDIR: _GONE,
    errno.ESTALE: _GONE,
    errno.EMFILE: _OPEN_FILES,
    errno.ENFILE: _OPEN_FILES,
    errno.EIO: _IO,
}
#: SQLite's result codes; `sqlite3` is not imported, because most commands do not need it.
_SQLITE_KINDS = {3: _DENIED, 8: _READ_ONLY, 10: _IO, 13: _FULL, 14: _GONE}
#: `support.files` writes a temporary file beside the one that it replaces.
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{32}\.tmp")


class SystemRefused(Unavailable):
    """The operating system refused a file operation, so the request was not carried out."""

    code = "system_refused"

    def __init__(self, message: str, *, is_environmental: bool) -> None:
        super().__init__(message)
        self.is_environmental = is_environmental


def translate(error: BaseException) -> SystemRefused | None:
    """*error* as `SystemRefused`; None for errors that are not about files or disks."""
    kind = _kind_of(error)
    if kind is None:
        return None
    path = _path_of(error)
    reason = f"{kind.reason}: {path}" if path else kind.reason
    return SystemRefused(f"{reason}; {kind.remedy}", is_environmental=kind.is_environmental)


def _kind_of(error: BaseException) -> _Kind | None:
    if isinstance(error, OSError):
        return _KINDS.get(error.errno or 0)
    code = getattr(error, "sqlite_errorcode", None)
    return _SQLITE_KINDS.get(code & 0xFF) if isinstance(code, int) else None


def _path_of(error: BaseException) -> str:
    """The path of the error; a temporary file's is that of the file it replaces."""
    name = getattr(error, "filename", None)
    if not isinstance(name, str | bytes | os.PathLike):
        return ""
    path = os.fsdecode(name)
    folder, _, last = path.rpartition("/")
    if (found := _TEMPORARY.fullmatch(last)) is None:
        return path
    return f"{folder}/{found[1]}" if folder else found[1]
