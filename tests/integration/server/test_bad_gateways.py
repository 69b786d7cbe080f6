"""Gateways that die, hang, lie or are of another version, behind a server that goes on."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.server import gateways
from posthouse.testing import server as server_module
from posthouse.testing.running_gateways import session_in
from posthouse.testing.server import Answer, Served
from posthouse.testing.server_with_gateways import agents_in, claimed, register
from posthouse.testing.waiting import wait_for

HEALTH = b'{"protocol_version":"v1","status":"ok"}'
AGAIN = "gateway detach` and `posthouse agents single --agent-id gpu-id gateway attach`"
STATE = "/houmao/agents/gpu/gateway/control/headless/state"
#: A gateway's process as far as the server can see: it holds its folder, is healthy, and never answers more.
SILENT = """
import fcntl, http.server, json, os, pathlib, sys, threading
root = pathlib.Path(sys.argv[1])
lock = open(root / sys.argv[2], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write(str(os.getpid())); lock.flush()
class Silent(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path != "/health":
            print("asked", flush=True)
            threading.Event().wait()
        body = b'{"protocol_version":"v1","status":"ok"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
instance = {"schema_version": 1, "protocol_version": "v1", "pid": os.getpid(), "host": "127.0.0.1",
    "port": server.server_port, "execution_mode": "detached_process", "managed_agent_instance_epoch": 1,
    "managed_agent_instance_id": "one"}
(root / sys.argv[3]).write_text(json.dumps(instance))
print("up", flush=True)
server.serve_forever()
"""


def http(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


class Pretender:
    """Listens as a gateway would, and says *health* and then *rest*; None is silence."""

    def __init__(self, health: bytes | None, rest: bytes | None = None) -> None:
        self._said = {True: health, False: rest}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # which ends a wait for the next peer, as closing does not
        self._listener.close()
        for peer in self._open:
            peer.close()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(peer)
            threading.Thread(target=self._answer, args=(peer,), daemon=True).start()

    def _answer(self, peer: socket.socket) -> None:
        try:
            while head := peer.recv(65536):
                said = self._said[head.startswith(b"GET /health")]
                if said is not None:
                    peer.sendall(said)
        except OSError:
            return  # it was hung up on


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator["House"]:
    folder = tmp_path_factory.mktemp("house")
    agents = agents_in(folder)
    session = register(session_in(folder), agents)
    with server_module.serving(agents) as server:
        yield House(server, session.gateway_root, lambda port: claimed(session, port))


class House:
    """A server, and the gateway folder of the one agent behind it."""

    def __init__(
        self, server: Served, root: Path, claim: Callable[[int], AbstractContextManager[None]]
    ) -> None:
        self.server = server
        self.root = root
        self._claim = claim

    @contextmanager
    def pretended(self, pretender: Pretender) -> Iterator[None]:
        with self._claim(pretender.port):
            yield
        pretender.close()

    def ask(self) -> Answer:
        return self.server.get(STATE)


@pytest.mark.parametrize(
    ("health", "told"),
    [
        pytest.param(http(b'{"protocol_version":"v2","status":"ok"}'), "speaks protocol 'v2'", id="newer"),
        pytest.param(http(b'{"status":"ok"}'), "speaks protocol None", id="older"),
        pytest.param(http(b"<html>"), "answered 200 with a body", id="another program"),
        pytest.param(
            http(b'{"detail":"Not Found"}', b"404 Not Found"), "is not healthy: Not Found", id="404"
        ),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "is not a Posthouse gateway", id="not HTTP"),
        pytest.param(http(b'{"protocol_version":"v1","status":"sick"}'), "reports status 'sick'", id="sick"),
    ],
)
def test_what_is_not_a_healthy_gateway_of_ours_is_named_with_the_remedy(
    house: House, health: bytes, told: str
) -> None:
    """Nothing is asked of it, the reason is told, and the agent counts as without a gateway."""
    with house.pretended(Pretender(health)):
        refused, status = house.ask(), house.server.get("/houmao/agents/gpu/gateway")

    assert refused.status == 503
    assert told in refused.json["detail"]
    assert AGAIN in refused.json["detail"]
    assert (status.status, status.json["gateway_health"]) == (200, "not_attached")


def test_a_gateway_that_hangs_is_given_up_on(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody who asks is told so, however many they are."""
    monkeypatch.setattr(gateways, "HEALTH_SECONDS", 0.2)
    answers: list[Answer] = []
    with house.pretended(Pretender(None)):
        readers = [threading.Thread(target=lambda: answers.append(house.ask())) for _ in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()

    assert {one.status for one in answers} == {503}
    assert all("did not answer its health check within 0.2 s" in one.json["detail"] for one in answers)


def test_garbage_instead_of_an_answer_is_a_bad_gateway(house: House) -> None:
    """502, with what to do; the server goes on."""
    with house.pretended(Pretender(http(HEALTH), b"\0\0\0\r\n\r\n")):
        heard = house.ask()

    assert heard.status == 502
    assert AGAIN in heard.json["detail"]
    assert house.server.get("/health").status == 200


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param({"schema_version": 2, "protocol_version": "v2"}, "has another version", id="newer"),
        pytest.param("no JSON", "has another version", id="broken"),
    ],
)
def test_a_folder_of_another_version_is_named(house: House, content: object, told: str) -> None:
    """Its file is told, and nothing is guessed."""
    place = house.root / gf.CURRENT_INSTANCE
    with house.pretended(Pretender(http(HEALTH))):
        place.write_text(content if isinstance(content, str) else json.dumps(content))
        heard = house.ask()

    assert heard.status == 503
    assert told in heard.json["detail"]
    assert str(place) in heard.json["detail"]
    assert AGAIN in heard.json["detail"]


def test_a_file_that_names_a_process_which_is_gone_is_not_believed(house: House) -> None:
    """Whoever listens on that port now is not asked anything."""
    pretender = Pretender(http(HEALTH), http(b"{}"))
    with house.pretended(pretender):
        place = house.root / gf.CURRENT_INSTANCE
        instance = json.loads(place.read_bytes())
        place.write_text(json.dumps({**instance, "pid": instance["pid"] + 1}))
        heard = house.ask()

    assert heard.status == 503
    assert re.search(r"has died \(process \d+ is gone\); start it again with", heard.json["detail"])


def test_the_next_gateway_is_asked_as_soon_as_it_is_there(house: House) -> None:
    """What was remembered of the one before is forgotten."""
    for body in (b'{"a":1}', b'{"b":2}'):
        with house.pretended(Pretender(http(HEALTH), http(body))):
            assert (house.ask().status, house.ask().body) == (200, body)
    assert house.ask().status == 503


def test_a_gateway_killed_under_a_call_is_told_as_such(house: House) -> None:
    """SIGKILL while the answer is awaited: 503 at once, with the words, and the next call knows."""
    gateway = subprocess.Popen(
        [sys.executable, "-c", SILENT, str(house.root), gateway_lock.LOCK, gf.CURRENT_INSTANCE],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert gateway.stdout is not None
    answers: list[Answer] = []
    try:
        assert gateway.stdout.readline() == "up\n"
        caller = threading.Thread(target=lambda: answers.append(house.ask()))
        caller.start()
        assert gateway.stdout.readline() == "asked\n"
        os.kill(gateway.pid, signal.SIGKILL)
        caller.join()
    finally:
        gateway.kill()
        gateway.wait()
        gateway.stdout.close()
    wait_for(lambda: gateway_lock.holder_of(house.root) is None)

    [heard] = answers
    assert heard.status == 503
    assert "ended before it answered" in heard.json["detail"]
    assert "may have been executed" in heard.json["detail"]
    assert "has died" in house.ask().json["detail"]
    (house.root / gf.CURRENT_INSTANCE).unlink()
