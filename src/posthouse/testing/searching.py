"""Finding what lies in a folder that others still write to."""

from pathlib import Path


def files_with(folder: Path, content: bytes) -> list[Path]:
    """The files below *folder* that hold *content*; one that goes away meanwhile is none of them."""
    return [path for path in folder.rglob("*") if content in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""
