"""A control client of a real tmux server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
import uvloop

from posthouse.errors import Unavailable
from posthouse.support import processes
from posthouse.terminal import session
from posthouse.terminal.client import NoServer, Server, Tmux, TmuxRefused
from posthouse.terminal.control import ControlClient
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import plain
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

Returned = TypeVar("Returned")


class Run(Protocol):
    """Runs a coroutine on a fresh loop."""

    def __call__(self, main: Coroutine[Any, Any, Returned], /) -> Returned: ...


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """On either loop: gateways run on uvloop."""
    return asyncio.run if request.param == "asyncio" else uvloop.run


_ALIVE = "#{==:#{pane_dead},0}"
_HOSTILE = "a;\nkill-server\n#{pid} $HOME ~ \"' \\ { } %end é \x1b[201~;"


@pytest.fixture
def tmux(tmux_server: Server) -> Tmux:
    return Tmux(tmux_server)


@pytest.fixture
def pane(tmux: Tmux) -> Pane:
    return session.create(tmux, "gpu", working_directory=Path("/"), environment={})


def _start(tmux: Tmux, pane: Pane, script: str) -> Pane:
    argv = ["/bin/sh", "-c", script]
    return session.start_program(tmux, pane, argv, environment={}, working_directory=Path("/"))


async def _soon(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def _attached(server: Server, *, output: bool = True) -> AsyncIterator[ControlClient]:
    client = await ControlClient.attach(server, "gpu", output=output, timeout_seconds=LIMIT_SECONDS)
    try:
        yield client
    finally:
        await client.close()


def test_replies_come_to_whoever_asked(
    run: Run, pane: Pane, tmux_server: Server, new_children: Callable[[], list[int]]
) -> None:
    """Many commands in flight, failures among them, each get their own answer."""

    async def ask() -> list[str]:
        async with _attached(tmux_server, output=False) as client:
            return await asyncio.gather(*(_reply(client, number) for number in range(200)))

    async def _reply(client: ControlClient, number: int) -> str:
        if number % 7 == 0:
            with pytest.raises(TmuxRefused, match=f"can't find session: none{number}"):
                await client.command("kill-session", "-t", f"=none{number}")
            return "refused"
        return await client.command("display-message", "-p", f"answer {number}")

    assert run(ask()) == [f"answer {number}" if number % 7 else "refused" for number in range(200)]
    assert new_children() == []


def test_hostile_text_is_one_argument(run: Run, tmux: Tmux, pane: Pane, tmux_server: Server) -> None:
    """No text becomes a second command, directly or inside a condition."""

    async def store() -> list[str]:
        async with _attached(tmux_server, output=False) as client:
            await client.command("set-buffer", "-b", "plain", "--", _HOSTILE)
            nested = ("set-buffer", "-b", "nested", "--", _HOSTILE)
            assert await client.command_if(pane.pane_id, "1", nested)
            # By a process: a control client is shown control characters in words.
            return [tmux.run("show-buffer", "-b", name) for name in ("plain", "nested")]

    assert run(store()) == [_HOSTILE, _HOSTILE]


def test_a_condition_decides_and_keeps_the_replies_in_step(run: Run, pane: Pane, tmux_server: Server) -> None:
    """A command that was not to run did not, a failing one says so, and the next answers are right."""

    async def ask() -> list[object]:
        async with _attached(tmux_server, output=False) as client:
            seen: list[object] = [
                await client.command_if(pane.pane_id, "#{pane_dead}", ("set-buffer", "-b", "x", "no")),
                await client.command_if(pane.pane_id, _ALIVE, ("set-buffer", "-b", "y", "yes")),
                await client.command_if("%99", _ALIVE, ("set-buffer", "-b", "z", "no")),
            ]
            with pytest.raises(TmuxRefused):
                await client.command_if(pane.pane_id, "1", ("paste-buffer", "-b", "none"))
            seen.append(await client.command("list-buffers", "-F", "#{buffer_name}"))
            return seen

    assert run(ask()) == [False, True, False, "y"]


def test_output_arrives_byte_for_byte(run: Run, tmux: Tmux, pane: Pane, tmux_server: Server) -> None:
    """What the program writes reaches every listener, until it stops listening."""

    async def listen() -> tuple[bytes, bytes]:
        async with _attached(tmux_server) as client:
            heard: list[bytes] = []
            other: list[bytes] = []
            client.watch(lambda pane_id, content: heard.append(content) if pane_id == pane.pane_id else None)
            unwatch = client.watch(lambda _pane_id, content: other.append(content))
            unwatch()
            _start(tmux, pane, "printf '\\001\\033[1m\\\\134 \\303\\251\\377end'; exec sleep 99")
            await _soon(lambda: b"".join(heard).endswith(b"end"))
            return b"".join(heard), b"".join(other)

    assert run(listen()) == (b"\x01\x1b[1m\\134 \xc3\xa9\xffend", b"")


def test_a_client_without_output_hears_none(run: Run, tmux: Tmux, pane: Pane, tmux_server: Server) -> None:
    """Where only commands are needed, nothing is sent for the program's writing."""

    async def listen() -> list[bytes]:
        async with _attached(tmux_server, output=False) as client:
            heard: list[bytes] = []
            client.watch(lambda _pane_id, content: heard.append(content))
            _start(tmux, pane, "echo written; exec sleep 99")
            async with asyncio.timeout(LIMIT_SECONDS):
                while "written" not in (await client.capture(pane.pane_id)).rows:
                    await asyncio.sleep(0.01)
            return heard

    assert run(listen()) == []


def test_a_capture_is_the_one_a_process_would_get(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server
) -> None:
    """Rows, title and cursor are the same by both ways."""
    _start(
        tmux,
        pane,
        "printf '\\033]2;✳ at work\\007\\033[31mred\\nstill\\033[0m\\n%%end 1 2 1\\nend'; exec sleep 99",
    )

    async def look() -> None:
        async with _attached(tmux_server) as client:
            async with asyncio.timeout(LIMIT_SECONDS):
                while (screen := await client.capture(pane.pane_id)).rows[3] != "end":
                    await asyncio.sleep(0.01)

            assert screen == session.capture(tmux, pane.pane_id)
            assert (screen.title, screen.cursor, plain(screen.rows[2])) == ("✳ at work", (3, 3), "%end 1 2 1")

    run(look())


def test_a_listener_that_fails_costs_nobody_else(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server
) -> None:
    """The others still hear, and commands are still answered."""

    def fail(_pane_id: str, _content: bytes) -> None:
        raise ValueError("a listener's own mistake")

    async def listen() -> str:
        async with _attached(tmux_server) as client:
            heard: list[bytes] = []
            client.watch(fail)
            client.watch(lambda _pane_id, content: heard.append(content))
            _start(tmux, pane, "echo end; exec sleep 99")
            await _soon(lambda: b"end" in b"".join(heard))
            return await client.command("display-message", "-p", "still here")

    assert run(listen()) == "still here"


def test_copy_mode_is_announced(run: Run, tmux: Tmux, pane: Pane, tmux_server: Server) -> None:
    """A person who starts or stops scrolling makes a listener look again."""

    async def listen() -> list[bytes]:
        async with _attached(tmux_server) as client:
            heard: list[bytes] = []
            client.watch(lambda _pane_id, content: heard.append(content))
            tmux.run("copy-mode", "-t", pane.pane_id)
            await _soon(lambda: len(heard) == 1)
            tmux.run("send-keys", "-t", pane.pane_id, "-X", "cancel")
            await _soon(lambda: len(heard) == 2)
            return heard

    assert run(listen()) == [b"", b""]


def test_a_reader_that_falls_behind_is_paused_and_goes_on(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server
) -> None:
    """tmux keeps no growing buffer for it; it is told to look again and hears what comes later."""

    async def listen() -> str:
        async with _attached(tmux_server) as client:
            heard: list[bytes] = []
            client.watch(lambda _pane_id, content: heard.append(content))
            # What tmux does by itself after five seconds.
            name = tmux.run("list-clients", "-F", "#{client_name}")
            tmux.run("refresh-client", "-t", name, "-A", f"{pane.pane_id}:pause")
            await _soon(lambda: heard == [b""])
            _start(tmux, pane, "echo alive; exec sleep 99")
            await _soon(lambda: any(b"alive" in content for content in heard))
            return await client.command("list-clients", "-F", "#{client_flags}")

    assert "pause-after=5" in run(listen())


def test_the_agents_window_keeps_its_size(run: Run, tmux: Tmux, pane: Pane, tmux_server: Server) -> None:
    """Attaching a control client resizes nothing and leaves the session's environment alone."""
    tmux.run("set-environment", "-t", "=gpu", "SSH_AUTH_SOCK", "kept")

    async def attach() -> str:
        async with _attached(tmux_server) as client:
            return await client.command("display-message", "-p", "#{window_width}x#{window_height}")

    assert run(attach()) == "120x40"
    assert session.environment(tmux, "gpu") == {"SSH_AUTH_SOCK": "kept"}


def test_a_missing_session_is_refused(
    run: Run, pane: Pane, tmux_server: Server, new_children: Callable[[], list[int]]
) -> None:
    """`gp` is not `gpu`, and no process is left."""
    with pytest.raises(TmuxRefused, match="can't find session: gp"):
        run(ControlClient.attach(tmux_server, "gp", output=True))

    assert new_children() == []


def test_a_missing_server_is_told_and_not_started(
    run: Run, tmux_server: Server, new_children: Callable[[], list[int]]
) -> None:
    """Attaching never starts a server."""
    with pytest.raises(NoServer):
        run(ControlClient.attach(tmux_server, "gpu", output=True))

    assert (Path(str(tmux_server.socket)).exists(), new_children()) == (False, [])


def test_attaching_to_a_frozen_server_ends(
    run: Run, frozen_tmux_server: Server, new_children: Callable[[], list[int]]
) -> None:
    """It gives up at the time limit and leaves no process."""
    with pytest.raises(Unavailable, match="did not answer"):
        run(ControlClient.attach(frozen_tmux_server, "frozen", output=True, timeout_seconds=0.3))

    assert new_children() == []


def test_a_server_that_freezes_and_thaws_keeps_the_order_of_replies(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server
) -> None:
    """A command given up keeps its place, so the next answer is not taken for another."""
    server_pid = int(tmux.run("display-message", "-p", "#{pid}"))

    async def ask() -> str:
        async with _attached(tmux_server) as client:
            client._timeout_seconds = 0.3  # now that it has arrived, which may take longer
            os.kill(server_pid, signal.SIGSTOP)
            try:
                with pytest.raises(Unavailable, match="did not answer"):
                    await client.command("display-message", "-p", "first")
            finally:
                os.kill(server_pid, signal.SIGCONT)
            async with asyncio.timeout(LIMIT_SECONDS):
                while True:
                    with suppress(Unavailable):
                        reply = await client.command("display-message", "-p", "second")
                        break
            return reply

    assert run(ask()) == "second"


@pytest.mark.parametrize("end", ["kill-session -t =gpu:", "kill-server", "detach-client -s =gpu"])
def test_the_end_of_the_session_is_noticed(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server, end: str, new_children: Callable[[], list[int]]
) -> None:
    """`closed` returns, later commands fail, and no process is left."""

    async def watch() -> None:
        async with _attached(tmux_server) as client:
            await asyncio.to_thread(tmux.run, *end.split())
            async with asyncio.timeout(LIMIT_SECONDS):
                await client.closed()
            with pytest.raises(NoServer, match="'gpu'"):
                await client.command("list-sessions")

    run(watch())
    assert new_children() == []


def test_the_death_of_the_server_ends_what_is_under_way(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server, new_children: Callable[[], list[int]]
) -> None:
    """A command that waits for its answer fails when there is nobody left to give it."""
    server_pid = int(tmux.run("display-message", "-p", "#{pid}"))

    async def watch() -> None:
        async with _attached(tmux_server) as client:
            os.kill(server_pid, signal.SIGSTOP)
            under_way = [asyncio.create_task(client.command("list-sessions")) for _ in range(3)]
            await asyncio.sleep(0)
            os.kill(server_pid, signal.SIGKILL)
            outcomes = await asyncio.gather(*under_way, return_exceptions=True)
            await client.closed()

            assert [isinstance(outcome, NoServer) for outcome in outcomes] == [True] * 3

    run(watch())
    assert new_children() == []


#: Attaches to a session, says so, and then reads what comes or hangs with output that it has not read.
_OWNER = """
import array, asyncio, fcntl, os, signal, sys, termios
from posthouse.terminal.client import Server
from posthouse.terminal.control import ControlClient

def unread(client):
    count = array.array("i", [0])
    fcntl.ioctl(client._protocol._transport.get_extra_info("socket").fileno(), termios.FIONREAD, count)
    return count[0]

async def stay(socket, is_hung):
    client = await ControlClient.attach(Server(socket), "gpu", output=True, timeout_seconds=180)
    while is_hung and unread(client) < 32768:
        pass
    os.write(1, b"attached")
    if is_hung:
        signal.pause()
    await client.closed()

asyncio.run(stay(sys.argv[1], sys.argv[2] == "hung"))
"""


@pytest.mark.parametrize(
    ("owner", "program"),
    [
        pytest.param("reading", "exec sleep 999", id="quiet"),
        pytest.param("reading", "exec yes", id="while output flows"),
        pytest.param("hung", "exec yes", id="with unread output"),
    ],
)
def test_the_client_of_a_killed_process_leaves_the_server(
    tmux: Tmux, pane: Pane, tmux_server: Server, owner: str, program: str
) -> None:
    """Killed by SIGKILL, a process leaves no attached client and no tmux process behind."""
    assert tmux_server.socket is not None
    _start(tmux, pane, program)
    command = [sys.executable, "-c", _OWNER, tmux_server.socket, owner]

    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(len("attached")) == b"attached"
        [client] = tmux.run("list-clients", "-F", "#{client_pid}").splitlines()
        process.kill()

    wait_for(lambda: tmux.run("list-clients") == "")
    assert processes.wait_exit(int(client), seconds=LIMIT_SECONDS)


#: More than the socket of a client that does not read takes.
_FLOOD_BYTES = 500_000


def test_a_program_is_replaced_while_its_output_flows(
    run: Run, tmux: Tmux, pane: Pane, tmux_server: Server
) -> None:
    """The server survives, although a client has not got all output, and the client sees the new program."""

    async def replace() -> tuple[int, str]:
        async with _attached(tmux_server) as reading, _attached(tmux_server) as hung:
            hung._protocol._transport.pause_reading()  # type: ignore[union-attr]
            heard: list[bytes] = []
            reading.watch(lambda _pane_id, content: heard.append(content))
            for _ in range(10):
                heard.clear()
                _start(tmux, pane, "exec yes")
                await _soon(lambda: sum(map(len, heard)) > _FLOOD_BYTES)
            now = _start(tmux, pane, "while sleep 0.01; do echo new; done")
            await _soon(lambda: b"new" in b"".join(heard))
            return now.pid, await reading.command("display-message", "-p", "-t", pane.pane_id, "#{pane_pid}")

    started, seen = run(replace())
    assert str(started) == seen


def test_a_missing_tmux_is_told(run: Run, tmux_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that gets it, and nothing left open."""
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(Unavailable, match="apt-get install"):
        run(ControlClient.attach(tmux_server, "gpu", output=True))
