"""The installed Claude Code: its program and version, found without running it."""

import json
import re
import shutil
from pathlib import Path

from posthouse.tools.tool import tool_missing, unsupported_version

_PACKAGE = "@anthropic-ai/claude-code"
_INSTALL_COMMAND = f"npm install -g {_PACKAGE}"
#: The first version with the titles, hooks and event stream that we read.
_MIN_VERSION = (2, 1, 0)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def executable() -> str:
    """The program's absolute path.

    Raises:
        Unavailable: It is not on PATH.
    """
    found = shutil.which("claude")
    if found is None:
        raise tool_missing(f"claude is not installed, or not on PATH: install it with `{_INSTALL_COMMAND}`")
    return str(Path(found).absolute())


def version() -> str | None:
    """The installed version; None if it is unknown or nothing is installed."""
    found = shutil.which("claude")
    if found is None:
        return None
    program = Path(found).resolve()
    if _VERSION.fullmatch(program.name):  # the native installer keeps one program per version
        return program.name
    return next((found for folder in program.parents[:3] if (found := _package_version(folder))), None)


def require_supported(found_version: str | None) -> None:
    """Accept a supported or an unknown version.

    Raises:
        Unavailable: It is too old.
    """
    numbers = _VERSION.match(found_version or "")
    if numbers and tuple(int(number) for number in numbers.groups()) < _MIN_VERSION:
        oldest = ".".join(str(number) for number in _MIN_VERSION)
        raise unsupported_version(
            f"claude {found_version} is too old, {oldest} is needed: run `{_INSTALL_COMMAND}@latest`"
        )


def _package_version(folder: Path) -> str | None:
    """The version of Claude Code's npm package in *folder*; None if there is no such package."""
    try:
        manifest = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict) or manifest.get("name") != _PACKAGE:
        return None
    found_version = manifest.get("version")
    return found_version if isinstance(found_version, str) else None
