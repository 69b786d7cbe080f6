"""What the operating system and SQLite refuse, translated once into `Unavailable`: reason, path, remedy.

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
    #: It says nothing of our code: its traceback is not worth a log.
    is_plain: bool = True


_FULL = _Kind("no space left on device", "free some space, then try again")
_QUOTA = _Kind("disk quota exceeded", "free some space, then try again")
_FILE_LIMIT = _Kind("file size limit exceeded", "raise the limit (`ulimit -f`), then try again")
_READ_ONLY = _Kind("read-only file system", "mount it writable, then try again")
_DENIED = _Kind("permission denied", "check the owner and mode of the path, then try again", is_plain=False)
_GONE = _Kind(
    "no such file or folder", "it may have been removed, or its file system unmounted", is_plain=False
)
_OPEN_FILES = _Kind("too many open files", "raise the limit (`ulimit -n`), then try again")
_IO = _Kind("input/output error", "check the disk and the kernel's log (`dmesg`)", is_plain=False)

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
#: SQLite's result codes; `sqlite3` itself is not imported, because most commands do without it.
_SQLITE_KINDS = {3: _DENIED, 8: _READ_ONLY, 10: _IO, 13: _FULL, 14: _GONE}
#: `support.files` writes beside the file that it is about to replace.
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{32}\.tmp")


class SystemRefused(Unavailable):
    """The operating system refused a file operation. What it was part of was not done."""

    code = "system_refused"

    def __init__(self, message: str, *, is_plain: bool) -> None:
        super().__init__(message)
        self.is_plain = is_plain


def translated(error: BaseException) -> SystemRefused | None:
    """*error* as a refusal with its reason; None for errors that say nothing about files or disks."""
    kind = _kind_of(error)
    if kind is None:
        return None
    path = _path_of(error)
    told = f"{kind.reason}: {path}" if path else kind.reason
    return SystemRefused(f"{told}; {kind.remedy}", is_plain=kind.is_plain)


def _kind_of(error: BaseException) -> _Kind | None:
    if isinstance(error, OSError):
        return _KINDS.get(error.errno or 0)
    code = getattr(error, "sqlite_errorcode", None)
    return _SQLITE_KINDS.get(code & 0xFF) if isinstance(code, int) else None


def _path_of(error: BaseException) -> str:
    """The path that a person knows: not that of a temporary file."""
    name = getattr(error, "filename", None)
    if not isinstance(name, str | bytes | os.PathLike):
        return ""
    path = os.fsdecode(name)
    folder, _, last = path.rpartition("/")
    if (found := _TEMPORARY.fullmatch(last)) is None:
        return path
    return f"{folder}/{found[1]}" if folder else found[1]
