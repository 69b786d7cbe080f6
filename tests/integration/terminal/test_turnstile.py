"""Control clients that come and go at the same time do not end the tmux server."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from posthouse.support import locks
from posthouse.terminal import session, turnstile
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient


def test_many_clients_at_once_leave_the_server_alive(tmux_server: Server, tmp_path: Path) -> None:
    """Pipes that come and go, clients that stay, sessions that begin and end: all from several hands.

    Without the turnstile tmux 3.3a dies within the first few.
    """
    tmux = Tmux(tmux_server)
    for name in ("one", "two"):
        session.create(tmux, name, working_directory=tmp_path, environment={})

    def pipe(number: int) -> None:
        session.set_environment(tmux, "one", {"NUMBER": str(number)})

    def stay(_: int) -> None:
        asyncio.run(_visit(tmux_server))

    def pass_by(number: int) -> None:
        session.create(tmux, f"brief{number}", working_directory=tmp_path, environment={})
        session.kill(tmux, f"brief{number}")

    with ThreadPoolExecutor(6) as hands:
        visits = [hands.submit(act, number) for number in range(12) for act in (pipe, stay, pass_by)]
        for visit in visits:
            visit.result()

    assert tmux.run("list-sessions", "-F", "#{session_name}") == "one\ntwo"


async def _visit(server: Server) -> None:
    client = await ControlClient.attach(server, "two", output=True)
    assert await client.command("display-message", "-p", "here") == "here"
    await client.close()


def test_a_turnstile_that_somebody_blocks_keeps_nobody_out(
    tmux_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that hangs in it delays the others, and no more."""
    monkeypatch.setattr(turnstile, "LONGEST_SECONDS", 0.3)
    tmux = Tmux(tmux_server)
    session.create(tmux, "one", working_directory=tmp_path, environment={})

    with locks.hold(turnstile.lock_of(tmux_server)):
        session.set_environment(tmux, "one", {"NUMBER": "1"})
        asyncio.run(_attached(tmux_server))

    assert session.environment(tmux, "one")["NUMBER"] == "1"


async def _attached(server: Server) -> None:
    client = await ControlClient.attach(server, "one", output=False)
    await client.close()
