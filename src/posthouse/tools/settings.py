"""Settings files of a CLI: JSON objects, read strictly."""

from pathlib import Path
from typing import Any

from posthouse.errors import Conflict
from posthouse.support import untrusted_files

_MAX_BYTES = 32 << 20


class BadSettings(Conflict):
    """A settings file can't be read; nothing was changed."""

    code = "bad_settings"


def read(path: Path) -> dict[str, Any]:
    """The JSON object in *path*; empty if there is no file.

    Raises:
        BadSettings: The file is not a JSON object.
    """
    try:
        with untrusted_files.open_file(path, follow=True) as stream:
            content = untrusted_files.decode_json(stream.read(_MAX_BYTES) or b"{}")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadSettings(f"{path} can't be read ({error}): repair or remove it") from error
    if not isinstance(content, dict):
        raise BadSettings(f"{path} is not a JSON object: repair or remove it")
    return content


def section(content: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
    """The object under *key*; empty if there is none.

    Raises:
        BadSettings: The value is not an object.
    """
    found = content.get(key, {})
    if not isinstance(found, dict):
        raise BadSettings(f"{key!r} in {path} is not a JSON object: repair or remove it")
    return found
