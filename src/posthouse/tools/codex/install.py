"""Which Codex is installed: its program and its version, found without running it."""

import json
import re
import shutil
from pathlib import Path

from posthouse.tools.tool import ToolMissing, UnsupportedVersion

OLDEST = (0, 116, 0)
_GET_IT = "npm install -g @openai/codex"
#: Below the package of the platform, or below the launcher's own.
_NATIVE = ("vendor/*/bin/codex", "vendor/*/codex/codex")


def executable() -> str:
    """The absolute path of the program: the native one, where the launcher is npm's.

    The launcher only starts that one, needs Node for it, and may stay as its parent, so that the pane's
    process would not be the agent.

    Raises:
        ToolMissing: Codex is not on PATH.
    """
    found = shutil.which("codex")
    if found is None:
        raise ToolMissing(f"codex is not installed, or not on PATH: `{_GET_IT}` gets it")
    return str(_native(Path(found).resolve()) or Path(found).absolute())


def version() -> str | None:
    """The installed version; None where neither package nor program tells it, or there is none."""
    found = shutil.which("codex")
    if found is None:
        return None
    launcher = Path(found).resolve()
    # npm's package, and the layout of the native program when it stands alone.
    for manifest in (launcher.parents[1] / "package.json", launcher.parents[1] / "codex-package.json"):
        if told := _version_in(manifest):
            return told
    return None


def require_supported(told: str | None) -> None:
    """Do nothing for a version that can be driven, or for one that is not told.

    Raises:
        UnsupportedVersion: It is too old.
    """
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", told or "")
    if numbers and tuple(int(number) for number in numbers.groups()) < OLDEST:
        oldest = ".".join(str(number) for number in OLDEST)
        raise UnsupportedVersion(
            f"codex {told} is too old, {oldest} is needed: `{_GET_IT}@latest` updates it"
        )


def _native(launcher: Path) -> Path | None:
    """The program that npm's *launcher* starts; None when it is not npm's."""
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
    told = content.get("version") if isinstance(content, dict) else None
    return told if isinstance(told, str) else None
