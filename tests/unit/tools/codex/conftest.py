"""A place for config homes that codex accepts."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.testing import leftovers


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder outside /tmp, where pytest's own folders lie and codex's sandbox breaks."""
    with tempfile.TemporaryDirectory(prefix="posthouse-codex-", dir=leftovers.homes()) as folder:
        yield Path(folder)
