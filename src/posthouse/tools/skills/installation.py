"""Skills in a folder of skills: written, kept up to date, and never at a person's cost.

What we write ends with a seal, the hash of the text above it. A file with a whole seal is ours, of this or
an older version, and is renewed; any other was written or changed by somebody, and stays as it is.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from posthouse.support import files, untrusted_files

#: As the contract names them.
NAMES: Final = ("houmao-process-emails-via-gateway", "houmao-agent-email-comms")
_FILE = "SKILL.md"
_SEAL = "<!-- written by posthouse, sha256 of the text above: {} -->\n"
_MAX_BYTES = 1 << 20


def install(folder: Path) -> Sequence[Path]:
    """Have both skills in *folder*; returns the files that are somebody's own and were left as they are.

    Each file is there whole, old or new, whenever this is killed. A second call writes nothing.

    Raises:
        OSError: The folder can't be written.
    """
    return [path for name in NAMES if not _renewed(path := folder / name / _FILE, _sealed(text_of(name)))]


def text_of(name: str) -> str:
    """The text of one skill as it is shipped."""
    return (Path(__file__).parent / name / _FILE).read_text(encoding="utf-8")


def _renewed(path: Path, wanted: bytes) -> bool:
    """Whether *path* holds what is wanted now; False when it is another's."""
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            there = stream.read(_MAX_BYTES)
    except untrusted_files.UnsafeFile:
        return False
    except FileNotFoundError:
        if path.is_symlink():
            return False
        there = b""
    if there == wanted:
        return True
    # A link is somebody's doing, even where it leads to a text of ours.
    if there and (path.is_symlink() or not _is_ours(there)):
        return False
    files.private_folder(path.parent)
    files.write_whole(path, wanted, durable=False)
    return True


def _sealed(text: str) -> bytes:
    body = text.encode()
    return body + _SEAL.format(_hash(body)).encode()


def _is_ours(content: bytes) -> bool:
    body = content[: content.rfind(b"<!--")]
    return content == body + _SEAL.format(_hash(body)).encode()


def _hash(content: bytes) -> str:
    import hashlib  # slow to load, and most commands write no skill

    return hashlib.sha256(content).hexdigest()
