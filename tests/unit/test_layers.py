"""Dependencies point down, and what the bridge imports needs no virtual environment."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import posthouse

_PACKAGE = Path(posthouse.__file__).parent
_VOCABULARY = {"contracts", "errors", "support", "clients"}
_DRIVEN = {"tools", "terminal"}
_COMPONENTS = {"queue", "tracking", "sessions", "turns", "mailbox", "sandbox", "conversations"}
#: What processes with a door share.
_SERVED = {"events", "web"}
#: Components put together for more than one process.
_JOINED = {"agent", "gateway_lifecycle"}
_PROCESSES = {"gateway", "server", "channels", "dashboard"}

#: What each package may import besides itself.
_MAY_IMPORT = {
    "errors": set(),
    "support": {"errors"},
    "contracts": {"errors", "support"},
    "clients": {"contracts", "errors", "support"},
    "terminal": _VOCABULARY,
    "tools": _VOCABULARY | {"terminal"},
    **dict.fromkeys(_COMPONENTS, _VOCABULARY | _DRIVEN),
    "events": _VOCABULARY,
    "web": _VOCABULARY | {"events"},
    **dict.fromkeys(_JOINED, _VOCABULARY | _DRIVEN | _COMPONENTS),
    **dict.fromkeys(_PROCESSES, _VOCABULARY | _DRIVEN | _COMPONENTS | _JOINED | _SERVED),
    "cli": _VOCABULARY | _DRIVEN | _COMPONENTS | _JOINED | _PROCESSES,
    "testing": _VOCABULARY | _DRIVEN | _COMPONENTS | _JOINED | _PROCESSES | _SERVED,
}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "posthouse":
            yield from (f"posthouse.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _owner(path: Path) -> str:
    return path.relative_to(_PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "path", sorted(_PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(_PACKAGE))
)
def test_a_module_imports_only_what_lies_below_it(path: Path) -> None:
    """No module reaches up, and no component reaches across."""
    owner = _owner(path)
    if owner == "__init__":
        return
    ours = {name.split(".")[1] for name in _imports(path) if name.startswith("posthouse.")}

    assert ours - {owner, "__version__"} <= _MAY_IMPORT[owner]


@pytest.mark.parametrize("module", ["posthouse.turns.bridge", "posthouse.tools.scripted.events"])
def test_what_runs_in_the_pane_needs_the_standard_library_only(module: str) -> None:
    """The bridge imports without site packages, as it is started."""
    source = f"import sys; sys.path.insert(0, {str(_PACKAGE.parent)!r}); import {module}"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
