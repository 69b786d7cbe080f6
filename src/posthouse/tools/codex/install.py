"""The installed Codex: its program and version, found without running it."""

import json
import re
import shutil
from pathlib import Path

from posthouse.tools.tool import tool_missing, unsupported_version

MIN_VERSION = (0, 116, 0)
_INSTALL_COMMAND = "npm install -g @openai/codex"
#: Paths in the platform's package or in the launcher's package.
_NATIVE = ("vendor/*/bin/codex", "vendor/*/codex/codex")


def executable() -> str:
    """The absolute path of the program: the native binary if the launcher is npm's.

    The npm launcher needs Node and may stay as the parent process, so that the pane's process would not be
    the agent.

    Raises:
        Unavailable: Codex is not on PATH.
    """
    found = shutil.which("codex")
    if found is None:
        raise tool_missing(f"codex is not installed, or not on PATH: install it with `{_INSTALL_COMMAND}`")
    return str(_native_program(Path(found).resolve()) or Path(found).absolute())


def version() -> str | None:
    """The installed version; None if it is unknown or nothing is installed."""
    found = shutil.which("codex")
    if found is None:
        return None
    launcher = Path(found).resolve()
    # The npm package, and the layout of a standalone native program.
    for manifest in (launcher.parents[1] / "package.json", launcher.parents[1] / "codex-package.json"):
        if found_version := _version_in(manifest):
            return found_version
    return None


def require_supported(found_version: str | None) -> None:
    """Accept a supported or an unknown version.

    Raises:
        Unavailable: It is too old.
    """
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", found_version or "")
    if numbers and tuple(int(number) for number in numbers.groups()) < MIN_VERSION:
        oldest = ".".join(str(number) for number in MIN_VERSION)
        raise unsupported_version(
            f"codex {found_version} is too old, {oldest} is needed: run `{_INSTALL_COMMAND}@latest`"
        )


def _native_program(launcher: Path) -> Path | None:
    """The native program that npm's *launcher* starts; None if *launcher* is not npm's."""
    if launcher.name != "codex.js":
        return None
    package = launcher.parents[1]
    beside = sorted(package.parent.glob("codex-*-*")) + sorted(package.glob("node_modules/@openai/codex-*-*"))
    for folder in (*beside, package):
        for pattern in _NATIVE:
            if found := next(folder.glob(pattern), None):
                return found
    return None


def _version_in(manifest: Path) -> str | None:
    try:
        content = json.loads(manifest.read_bytes())
    except (OSError, ValueError):
        return None
    found_version = content.get("version") if isinstance(content, dict) else None
    return found_version if isinstance(found_version, str) else None
