"""Control clients that are opened, closed and killed at any moment do not end the tmux server."""

import asyncio
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from posthouse.errors import Unavailable
from posthouse.terminal import control_script, control_socket, session
from posthouse.terminal.client import NoServer, Server, Tmux, TmuxRefused, attach_command
from posthouse.terminal.control import ControlClient
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

_HERE = ["display-message", "-p", "here"]


@pytest.fixture
def tmux(tmux_server: Server, tmp_path: Path) -> Tmux:
    """A server with two sessions."""
    tmux = Tmux(tmux_server)
    for name in ("one", "two"):
        session.create(tmux, name, working_directory=tmp_path, environment={})
    return tmux


def test_many_clients_at_once_leave_the_server_alive(tmux: Tmux, tmp_path: Path) -> None:
    """Scripts, clients that stay and sessions that begin and end, from several threads.

    With `tmux -C` processes tmux 3.3a dies within the first few.
    """

    def script(number: int) -> None:
        session.set_environment(tmux, "one", {"NUMBER": str(number)})

    def stay(_: int) -> None:
        assert asyncio.run(_visit(tmux.server)) == "here"

    def pass_by(number: int) -> None:
        session.create(tmux, f"brief{number}", working_directory=tmp_path, environment={})
        session.kill(tmux, f"brief{number}")

    with ThreadPoolExecutor(6) as threads:
        visits = [threads.submit(act, number) for number in range(12) for act in (script, stay, pass_by)]
        for visit in visits:
            visit.result()

    assert tmux.run("list-sessions", "-F", "#{session_name}") == "one\ntwo"


async def _visit(server: Server) -> str:
    client = await ControlClient.attach(server, "two", output=True, timeout_seconds=LIMIT_SECONDS)
    try:
        return await client.command(*_HERE)
    finally:
        await client.close()


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
def test_a_client_that_dies_while_it_attaches_leaves_the_server_alive(
    tmux: Tmux, tmp_path: Path, writes: int
) -> None:
    """After any of its writes, with another client attached and sessions that begin and end meanwhile."""
    other = control_socket.open_control(tmux.server, attach_command("one", output=False))

    with _interrupted_attach(tmux.server, writes):
        session.create(tmux, "brief", working_directory=tmp_path, environment={})
        tmux.run("copy-mode", "-t", "=one:0")
        session.kill(tmux, "brief")
        other.close()
        wait_for(lambda: "=one" not in tmux.run("list-clients", "-F", "=#{session_name}"))
    wait_for(lambda: tmux.run("list-clients") == "")

    assert tmux.run("list-sessions", "-F", "#{session_name}") == "one\ntwo"


@contextmanager
def _interrupted_attach(server: Server, writes: int) -> Iterator[None]:
    """A client that has done only its first *writes*, and is closed in the end."""
    messages = control_socket._messages(attach_command("two", output=False), control_socket.FD_MARKS[0])
    ours, theirs = socket.socketpair()
    with socket.socket(socket.AF_UNIX) as control, ours:
        control.connect(str(server.socket))
        for number, content in enumerate(messages[:writes]):
            control_socket._send(control, content, theirs if number < 2 else None)
        theirs.close()
        yield


def test_the_reply_of_each_command_is_returned(tmux: Tmux) -> None:
    """More than fits into the socket in one piece, in both directions."""
    long = "x" * 300_000

    replies = control_script.run(
        tmux.server,
        "one",
        [["set-buffer", "-b", "b", long], ["show-buffer", "-b", "b"], ["kill-session", "-t", "=no:"], _HERE],
        timeout_seconds=LIMIT_SECONDS,
    )

    assert [(reply.failed, reply.text) for reply in replies] == [
        (False, ""),
        (False, long),
        (True, "can't find session: no"),
        (False, "here"),
    ]


def test_nothing_runs_without_the_session(tmux: Tmux) -> None:
    """The commands wait for the attach."""
    with pytest.raises(TmuxRefused, match="can't find session: tw"):
        control_script.run(tmux.server, "tw", [["set-buffer", "-b", "b", "x"]], timeout_seconds=LIMIT_SECONDS)

    assert tmux.run("list-buffers") == ""


def test_a_server_that_ends_in_the_middle_is_reported(tmux: Tmux) -> None:
    """The replies that it still gave are no answer to all commands."""
    kill = ["run-shell", f"kill -KILL {tmux.run('display-message', '-p', '#{pid}')}"]

    with pytest.raises(NoServer):
        control_script.run(tmux.server, "one", [_HERE, kill, _HERE], timeout_seconds=LIMIT_SECONDS)


def test_a_session_name_that_no_message_can_hold_is_refused(tmux: Tmux) -> None:
    """Before anything is sent: a message that is too long would end the server."""
    with pytest.raises(TmuxRefused, match="too long"):
        control_script.run(tmux.server, "x" * 17_000, [_HERE], timeout_seconds=LIMIT_SECONDS)


def test_a_folder_that_can_not_be_searched_is_no_server(tmp_path: Path) -> None:
    """As with tmux's own client."""
    (tmp_path / "file").touch()

    with pytest.raises(NoServer):
        control_script.run(Server(str(tmp_path / "file")), "one", [_HERE], timeout_seconds=LIMIT_SECONDS)


_LISTENER = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    os.setuid(65534)  # a socket's peer is the user that listens
    listener.listen()
    print("listening", flush=True)
    print(len(listener.accept()[0].recv(1000)), flush=True)
"""


@pytest.mark.needs_host("root")
def test_a_named_server_of_another_user_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is in `/tmp`, where another user may have been first."""
    with tempfile.TemporaryDirectory(prefix="ph-") as folder:
        monkeypatch.setenv("TMUX_TMPDIR", folder)
        path = control_socket.socket_path(Server("named"))
        path.parent.mkdir()
        command = [sys.executable, "-c", _LISTENER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "listening\n"

            with pytest.raises(TmuxRefused, match="belongs to another user"):
                control_script.run(Server("named"), "one", [_HERE], timeout_seconds=LIMIT_SECONDS)

            assert other.stdout.readline() == "0\n"


def test_a_full_queue_of_clients_is_waited_for(tmp_path: Path) -> None:
    """A server that accepts no client is frozen, at the time limit."""
    path = tmp_path / "full"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(path))
        listener.listen(0)
        first.connect(str(path))

        with pytest.raises(Unavailable, match="did not answer"):
            control_script.run(Server(str(path)), "one", [_HERE], timeout_seconds=0.3)
        with pytest.raises(Unavailable, match="did not answer"):
            asyncio.run(ControlClient.attach(Server(str(path)), "one", output=False, timeout_seconds=0.3))


@pytest.mark.parametrize("attach", ["script", "client"])
def test_a_server_that_marks_descriptors_in_another_way_is_understood(
    tmux: Tmux, tmp_path: Path, attach: str
) -> None:
    """tmux 3.6 and later hang up on the older mark."""
    with _later_tmux(tmux.server, tmp_path / "later") as later:
        if attach == "script":
            [reply] = control_script.run(later, "two", [_HERE], timeout_seconds=LIMIT_SECONDS)
            answer = reply.text
        else:
            answer = asyncio.run(_visit(later))

    assert answer == "here"


@contextmanager
def _later_tmux(server: Server, path: Path) -> Iterator[Server]:
    """In front of *server*: takes only the later mark, and passes the messages on with the older one."""
    threads = list[threading.Thread]()

    def serve(client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as upstream:
            upstream.connect(str(server.socket))
            while True:
                content, descriptors, _, _ = socket.recv_fds(client, 65536, 2)
                translated = _with_older_mark(content)
                if translated:
                    socket.send_fds(upstream, [translated], descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                if not translated:
                    return

    def accept() -> None:
        with suppress(OSError):
            while True:
                threads.append(threading.Thread(target=serve, args=(listener.accept()[0],)))
                threads[-1].start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield Server(str(path))
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *threads):
                thread.join()


def _with_older_mark(content: bytes) -> bytes:
    """*content* as the older server takes it; empty when a message has the older mark already."""
    older, later = control_socket.FD_MARKS
    translated = b""
    while content:
        kind, length, *rest = struct.unpack_from("=IIII", content)
        if length & older:
            return b""
        size = length & 0xFFFF
        header = struct.pack("=IIII", kind, size | (older if length & later else 0), *rest)
        translated += header + content[16:size]
        content = content[size:]
    return translated
