"""SECURITY.md and docs/evidence.md name the test of each claim: those tests exist."""

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
_NAMED = re.compile(r"`((?:acceptance|integration|unit)/[\w/]+\.py|…)(?:::(\w+))?`")


@pytest.mark.parametrize("document", ["SECURITY.md", "docs/evidence.md"])
def test_every_named_test_exists(document: str) -> None:
    text = (PROJECT / document).read_text(encoding="utf-8")
    missing, path, count = [], "", 0
    for file, function in _NAMED.findall(text):
        path = path if file == "…" else file
        count += 1
        if function and function not in _functions(PROJECT / "tests" / path):
            missing.append(f"{path}::{function}")
        elif not (PROJECT / "tests" / path).is_file():
            missing.append(path)

    assert count > 10
    assert missing == []


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
