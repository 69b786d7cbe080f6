"""What git tracks below a folder, read from the index of each repository around it.

git itself is not run: a repository's settings can make it run commands. Repositories whose `.git` is in
another place (`GIT_DIR`, bare repositories for dotfiles) are not found.
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
#: The beginnings of indexes in which each path is written out.
_WHOLE_PATHS = (b"DIRC\0\0\0\x02", b"DIRC\0\0\0\x03")
#: In this version each path repeats only what differs from the one before it.
_SHORTENED_VERSION = 4


class UnreadableIndex(Denied):
    """It is not known what the repository tracks."""

    code = "unreadable_git_index"


def tracked_below(folder: Path) -> list[Path]:
    """The files below *folder*, an absolute path, that a repository around it tracks.

    Raises:
        UnreadableIndex: A repository's index can't be read.
    """
    found: list[Path] = []
    for top in (folder, *folder.parents):
        repository = _repository(top)
        if repository is not None:
            prefix = b"" if top == folder else bytes(folder.relative_to(top)) + b"/"
            found += [top / path.decode(errors="surrogateescape") for path in _tracked(repository, prefix)]
    return found


def _repository(top: Path) -> Path | None:
    """The folder with the index of the working tree *top*; None when it is no working tree."""
    marker = top / ".git"
    if marker.is_dir():
        return marker
    try:
        # A further working tree, or a submodule: the file names its folder.
        told = untrusted_files.read_text(marker, max_bytes=_MAX_POINTER_BYTES, follow=True).strip()
    except (OSError, ValueError):
        return None
    return top / told.removeprefix("gitdir:").strip() if told.startswith("gitdir:") else None


def _tracked(repository: Path, prefix: bytes) -> Iterator[bytes]:
    # A split index keeps most entries in a second file of the same form.
    for index in (repository / "index", *repository.glob("sharedindex.*")):
        try:
            content = untrusted_files.read_bytes(index, max_bytes=_MAX_INDEX_BYTES)
        except FileNotFoundError:
            continue
        except (OSError, UnsafeFile) as error:
            raise UnreadableIndex(f"{index} can't be read: {error}") from error
        if content[:8] in _WHOLE_PATHS and prefix not in content:
            continue  # most often, and fast
        try:
            yield from [path for path in _paths(content, _hash_bytes(repository)) if path.startswith(prefix)]
        except (IndexError, ValueError) as error:
            raise UnreadableIndex(f"{index} is not an index of git that is understood: {error}") from error


def _hash_bytes(repository: Path) -> int:
    """How long an object's name is: repositories can use SHA-256."""
    common = repository
    try:
        pointer = untrusted_files.read_text(repository / "commondir", max_bytes=_MAX_POINTER_BYTES)
        common = repository / pointer.strip()
    except (OSError, ValueError):
        pass  # the first working tree has none
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
    place, path = _HEADER_BYTES, b""
    for _ in range(count):
        begun = place
        place += _STATUS_BYTES + hash_bytes
        flags = int.from_bytes(content[place : place + 2], "big")
        place += 4 if flags & _EXTENDED else 2
        if version == _SHORTENED_VERSION:
            removed, place = _number(content, place)
            end = content.index(b"\0", place)
            path, place = path[: len(path) - removed] + content[place:end], end + 1
        else:
            end = content.index(b"\0", place)
            path = content[place:end]
            place = end + 8 - (end - begun) % 8  # at least one NUL, up to a multiple of eight
        yield path


def _number(content: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = content[place] & 0x7F
    while content[place] & 0x80:
        place += 1
        value = ((value + 1) << 7) | (content[place] & 0x7F)
    return value, place + 1
