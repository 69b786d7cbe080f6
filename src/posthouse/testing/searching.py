"""Finding what lies in a folder that others still write to."""

import contextlib
import stat
from pathlib import Path


def files_with(folder: Path, content: bytes) -> list[Path]:
    """The files below *folder* that hold *content*; one that goes away meanwhile is none of them."""
    return [path for path in folder.rglob("*") if content in _read(path)]


def modes_below(folder: Path) -> dict[str, int]:
    """The rights of every file and folder below *folder*, by its name; of those that stay."""
    modes: dict[str, int] = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            modes[str(path.relative_to(folder))] = stat.S_IMODE(path.stat().st_mode)
    return modes


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""
