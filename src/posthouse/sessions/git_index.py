"""Files that git tracks below a folder, read from the index of each enclosing repository.

git is not executed: a repository's settings can make it run commands. Repositories whose `.git` is
elsewhere (`GIT_DIR`, bare repositories for dotfiles) are not found.
"""

from collections.abc import Iterator
from pathlib import Path

from posthouse.errors import Denied
from posthouse.support import untrusted_files
from posthouse.support.untrusted_files import UnsafeFile

_MAX_INDEX_BYTES = 1 << 30
_MAX_POINTER_BYTES = 8 << 10
_HEADER_BYTES = 12
#: Times, device, inode, mode, owner and size of an entry; the hash and the flags follow.
_STATUS_BYTES = 40
_EXTENDED = 0x4000
#: Headers of index versions that store each path in full.
_WHOLE_PATHS = (b"DIRC\0\0\0\x02", b"DIRC\0\0\0\x03")
#: This version prefix-compresses each path against the previous one.
_SHORTENED_VERSION = 4


def tracked_below(folder: Path) -> list[Path]:
    """The files below *folder*, an absolute path, that an enclosing repository tracks.

    Raises:
        Denied: A repository's index can't be read.
    """
    found: list[Path] = []
    for top in (folder, *folder.parents):
        repository = _repository(top)
        if repository is not None:
            prefix = b"" if top == folder else bytes(folder.relative_to(top)) + b"/"
            found += [top / path.decode(errors="surrogateescape") for path in _tracked(repository, prefix)]
    return found


def _repository(top: Path) -> Path | None:
    """The git folder of the working tree *top*; None when *top* is not a working tree."""
    marker = top / ".git"
    if marker.is_dir():
        return marker
    try:
        # A linked working tree or a submodule: the file names its git folder.
        pointer = untrusted_files.read_text(marker, max_bytes=_MAX_POINTER_BYTES, follow=True).strip()
    except (OSError, ValueError):
        return None
    return top / pointer.removeprefix("gitdir:").strip() if pointer.startswith("gitdir:") else None


def _tracked(repository: Path, prefix: bytes) -> Iterator[bytes]:
    # A split index keeps most entries in a second file of the same format.
    for index in (repository / "index", *repository.glob("sharedindex.*")):
        try:
            content = untrusted_files.read_bytes(index, max_bytes=_MAX_INDEX_BYTES)
        except FileNotFoundError:
            continue
        except (OSError, UnsafeFile) as error:
            raise Denied(f"{index} can't be read: {error}", code="unreadable_git_index") from error
        if content[:8] in _WHOLE_PATHS and prefix not in content:
            continue  # the common case, and fast
        try:
            yield from [path for path in _paths(content, _hash_bytes(repository)) if path.startswith(prefix)]
        except (IndexError, ValueError) as error:
            raise Denied(
                f"{index} is not an index of git that is understood: {error}", code="unreadable_git_index"
            ) from error


def _hash_bytes(repository: Path) -> int:
    """Length of an object id: repositories can use SHA-256."""
    common = repository
    try:
        pointer = untrusted_files.read_text(repository / "commondir", max_bytes=_MAX_POINTER_BYTES)
        common = repository / pointer.strip()
    except (OSError, ValueError):
        pass  # the main working tree has none
    try:
        settings = untrusted_files.read_bytes(common / "config", follow=True).lower()
    except (OSError, ValueError):
        return 20
    return 32 if b"sha256" in settings.partition(b"objectformat")[2][:20] else 20


def _paths(content: bytes, hash_bytes: int) -> Iterator[bytes]:
    """The paths in an index, as git's `index-format` describes it."""
    if content[:4] != b"DIRC":
        raise ValueError("it does not begin with DIRC")
    version, count = int.from_bytes(content[4:8], "big"), int.from_bytes(content[8:12], "big")
    if version not in (2, 3, _SHORTENED_VERSION):
        raise ValueError(f"version {version} is not known")
    offset, path = _HEADER_BYTES, b""
    for _ in range(count):
        entry_start = offset
        offset += _STATUS_BYTES + hash_bytes
        flags = int.from_bytes(content[offset : offset + 2], "big")
        offset += 4 if flags & _EXTENDED else 2
        if version == _SHORTENED_VERSION:
            removed, offset = _varint(content, offset)
            end = content.index(b"\0", offset)
            path, offset = path[: len(path) - removed] + content[offset:end], end + 1
        else:
            end = content.index(b"\0", offset)
            path = content[offset:end]
            offset = end + 8 - (end - entry_start) % 8  # NUL padding to a multiple of eight, at least one
        yield path


def _varint(content: bytes, offset: int) -> tuple[int, int]:
    """A variable-length integer, and the offset after it."""
    value = content[offset] & 0x7F
    while content[offset] & 0x80:
        offset += 1
        value = ((value + 1) << 7) | (content[offset] & 0x7F)
    return value, offset + 1
