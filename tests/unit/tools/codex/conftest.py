"""A place for config homes that codex accepts."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder outside /tmp, where pytest's own folders lie and codex's sandbox breaks."""
    with tempfile.TemporaryDirectory(prefix="posthouse-codex-", dir="/var/tmp") as folder:
        yield Path(folder)
