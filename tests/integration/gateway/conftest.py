"""Real agents on a private tmux server, with real gateway processes that end with the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in


@pytest.fixture
def house(tmp_path: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(tmp_path, tmux_server)
    yield made
    made.end()
