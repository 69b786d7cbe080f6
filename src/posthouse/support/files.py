"""Atomic file writes.

A file is written beside its place and renamed into it, so a reader never sees half of one.
`durable=True` is for data that nothing else can derive: the file and then its folder are fsynced, and
when the call returns the content survives a power cut. Files are created 0600, folders 0700.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posthouse.support import crashpoints, ids


def write_whole(path: Path, content: bytes, *, durable: bool, mode: int = 0o600) -> None:
    """Replace *path* with *content*. On any error the old file is untouched."""
    temporary = path.with_name(f".{path.name}.{ids.hex_id(32)}.tmp")
    crashpoints.reach(f"write {path.name}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with _with_filename(path), open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if durable:
                crashpoints.reach(f"fsync {path.name}")
                os.fsync(descriptor)
        crashpoints.reach(f"rename {path.name}")
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    if durable:
        crashpoints.reach(f"fsync the folder of {path.name}")
        sync_folder(path.parent)
    crashpoints.reach(f"wrote {path.name}")


def write_json(path: Path, value: Mapping[str, Any], *, durable: bool) -> None:
    """Replace *path* with *value* as the contracts lay JSON out: indented, sorted, newline."""
    write_whole(path, encode_json(value), durable=durable)


def create_json(path: Path, value: Mapping[str, Any]) -> bool:
    """Create *path* atomically and durably. False, without a change, when it exists."""
    if path.exists():
        return False
    temporary = path.with_name(f".{path.name}.{ids.hex_id(32)}.tmp")
    crashpoints.reach(f"write {path.name}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with _with_filename(path), open(descriptor, "wb") as stream:
            stream.write(encode_json(value))
            stream.flush()
            os.fsync(descriptor)
        crashpoints.reach(f"link {path.name}")
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    crashpoints.reach(f"created {path.name}")
    return True


def encode_json(value: Mapping[str, Any]) -> bytes:
    import json  # imported late: most commands never write JSON

    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def append_line(path: Path, value: Mapping[str, Any]) -> None:
    """Add one JSON object as a line. A single O_APPEND write, so lines never interleave."""
    import json

    line = (json.dumps(value, sort_keys=True, ensure_ascii=False) + "\n").encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        with _with_filename(path):
            os.write(descriptor, line)
    finally:
        os.close(descriptor)


def private_folder(path: Path) -> Path:
    """Make *path* and its missing parents, readable by the owner alone."""
    if not path.parent.is_dir():
        # Not mkdir's own `parents`: those would be open to everyone.
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def sync_folder(path: Path) -> None:
    """Make renames and new names in *path* durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _with_filename(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _with_filename(path: Path) -> Iterator[None]:
    """Errors of the body carry *path*: those of write and fsync carry none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def size_of(folder: Path) -> int:
    """Bytes of all files below *folder*; files that vanish meanwhile count as 0."""
    total = 0
    for root, _folders, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118 - os.walk's own words
    return total
