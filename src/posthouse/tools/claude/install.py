"""Which Claude Code is installed: its program and its version, found without running it."""

import json
import re
import shutil
from pathlib import Path

from posthouse.tools.tool import ToolMissing, UnsupportedVersion

_PACKAGE = "@anthropic-ai/claude-code"
_GET_IT = f"npm install -g {_PACKAGE}"
#: The first whose titles, hooks and event stream are those that we read.
_OLDEST = (2, 1, 0)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def executable() -> str:
    """The program's absolute path.

    Raises:
        ToolMissing: It is not on PATH.
    """
    found = shutil.which("claude")
    if found is None:
        raise ToolMissing(f"claude is not installed, or not on PATH: `{_GET_IT}` gets it")
    return str(Path(found).absolute())


def version() -> str | None:
    """The installed version; None when nothing beside the program tells it, or there is none."""
    found = shutil.which("claude")
    if found is None:
        return None
    program = Path(found).resolve()
    if _VERSION.fullmatch(program.name):  # the native installer keeps one program per version
        return program.name
    return next((told for folder in program.parents[:3] if (told := _packaged(folder))), None)


def require_supported(told: str | None) -> None:
    """Do nothing for a version that can be driven, or for one that is not told.

    Raises:
        UnsupportedVersion: It is too old.
    """
    numbers = _VERSION.match(told or "")
    if numbers and tuple(int(number) for number in numbers.groups()) < _OLDEST:
        oldest = ".".join(str(number) for number in _OLDEST)
        raise UnsupportedVersion(
            f"claude {told} is too old, {oldest} is needed: `{_GET_IT}@latest` updates it"
        )


def _packaged(folder: Path) -> str | None:
    """The version of the npm package in *folder*, where it is ours."""
    try:
        manifest = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict) or manifest.get("name") != _PACKAGE:
        return None
    told = manifest.get("version")
    return told if isinstance(told, str) else None
