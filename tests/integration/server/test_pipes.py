"""Named pipes where the server looks for the files of an agent without a gateway."""

import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.terminal.client import Server
from posthouse.testing.scripted_agents import House, house_in
from posthouse.testing.server import serving

#: More than the server has threads.
_QUESTIONS = 80


@pytest.fixture
def house(tmp_path: Path, tmux_server: Server) -> Iterator[House]:
    made = house_in(tmp_path, tmux_server)
    yield made
    made.end()


def _asked(base_url: str, path: str) -> int | None:
    """The status of the answer; None when there was none in time."""
    try:
        with urllib.request.urlopen(f"{base_url}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def test_a_named_pipe_as_queue_stops_nothing(house: House) -> None:
    """It is not waited for: the server answers about this agent and about others."""
    bad = house.launch(headless=True, name="bad")
    house.launch(headless=True, name="good")
    bad.gateway_root.mkdir(exist_ok=True)
    pipe = bad.gateway_root / gf.QUEUE
    os.mkfifo(pipe)
    with serving(house.agents) as server, ThreadPoolExecutor(16) as callers:
        try:
            asked = [
                callers.submit(_asked, server.base_url, "/houmao/agents/bad/gateway")
                for _ in range(_QUESTIONS)
            ]
            told = {one.result() for one in asked}
            other = _asked(server.base_url, "/houmao/agents/good/gateway")
        finally:
            other_end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # ends a read that waits
    os.close(other_end)
    pipe.unlink()

    assert (told, other) == ({200}, 200)
