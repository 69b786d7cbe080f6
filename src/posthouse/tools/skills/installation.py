"""Installs and updates the skills in a skills folder without overwriting user files.

Every installed file ends with a seal, the hash of the text above it. A file with a valid seal is ours (this
or an older version) and is updated. Any other file was written or changed by a user and is left alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from posthouse.support import files, untrusted_files

#: The names in the contract.
NAMES: Final = ("houmao-process-emails-via-gateway", "houmao-agent-email-comms")
_FILE = "SKILL.md"
_SEAL = "<!-- written by posthouse, sha256 of the text above: {} -->\n"
_MAX_BYTES = 1 << 20


def install(folder: Path) -> Sequence[Path]:
    """Install both skills in *folder*; returns the user's files that were left unchanged.

    Files are replaced atomically. A second call writes nothing.

    Raises:
        OSError: The folder can't be written.
    """
    return [path for name in NAMES if not _update(path := folder / name / _FILE, _with_seal(text_of(name)))]


def text_of(name: str) -> str:
    """The packaged text of one skill."""
    return (Path(__file__).parent / name / _FILE).read_text(encoding="utf-8")


def _update(path: Path, wanted: bytes) -> bool:
    """Bring *path* to the content *wanted*; False if it is a user's file."""
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            content = stream.read(_MAX_BYTES)
    except untrusted_files.UnsafeFile:
        return False
    except FileNotFoundError:
        if path.is_symlink():
            return False
        content = b""
    if content == wanted:
        return True
    # A link was made by a user, even if it leads to our text.
    if content and (path.is_symlink() or not _is_ours(content)):
        return False
    files.private_folder(path.parent)
    files.write_whole(path, wanted, durable=False)
    return True


def _with_seal(text: str) -> bytes:
    body = text.encode()
    return body + _SEAL.format(_hash(body)).encode()


def _is_ours(content: bytes) -> bool:
    body = content[: content.rfind(b"<!--")]
    return content == body + _SEAL.format(_hash(body)).encode()


def _hash(content: bytes) -> str:
    import hashlib  # slow to load, and most commands write no skill

    return hashlib.sha256(content).hexdigest()
