"""Every step where a process can be killed by name, found in the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import posthouse

_PACKAGE = Path(posthouse.__file__).parent


def found() -> dict[str, list[str]]:
    """The names of all steps, with the modules that reach them; `*` stands for a file's name."""
    steps: dict[str, list[str]] = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        for name in _names_in(path.read_text(encoding="utf-8")):
            modules = steps.setdefault(name, [])
            if (module := str(path.relative_to(_PACKAGE))) not in modules:
                modules.append(module)
    return steps


def matches(pattern: str, name: str) -> bool:
    """Whether the step called *name* is one of *pattern*."""
    return re.fullmatch(".+".join(map(re.escape, pattern.split("*"))), name) is not None


def _names_in(source: str) -> Iterator[str]:
    # Most modules have none, and a tree costs a hundred times a search.
    return _reached(ast.parse(source)) if "crashpoints.reach(" in source else iter(())


def _reached(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="crashpoints"), attr="reach"), args=[argument]
            ):
                yield _name(argument)


def _name(argument: ast.expr) -> str:
    match argument:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in values)
    raise ValueError(f"a step's name must be a text: {ast.unparse(argument)}")
