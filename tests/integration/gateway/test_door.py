"""The door with real users and from beyond loopback: a whole gateway process in a network of its own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.testing import remote_address
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.remote_address import BEYOND, Network
from posthouse.testing.running_gateways import Served, serving, session_in
from posthouse.testing.searching import files_with
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.web import access, connection

NOBODY = 65534
HEALTHY = {"protocol_version": "v1", "status": "ok"}
GATEWAY = [sys.executable, "-m", "posthouse.gateway", "--host", "0.0.0.0", "--gateway-root"]

#: Asks `host port path headers`, and prints the answer.
ASK = """
import http.client, json, sys
host, port, path, headers = sys.argv[1:]
connection = http.client.HTTPConnection(host, int(port), timeout=120)
connection.request("GET", path, headers=json.loads(headers))
response = connection.getresponse()
print(json.dumps([response.status, dict(response.getheaders()), json.loads(response.read())]))
"""


@dataclass(frozen=True, slots=True)
class Heard:
    status: int
    headers: dict[str, str]
    body: Any


def ask(
    *within: str,
    host: str,
    port: int,
    path: str = "/health",
    uid: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Heard:
    """What a process of its own hears, run as *uid* by the command *within*."""
    as_user = [] if uid is None else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    # Any Python will do, and other users may not enter the folder of ours.
    program = [sys.executable] if uid is None else ["/usr/bin/env", "python3"]
    done = subprocess.run(
        [*within, *as_user, *program, "-I", "-c", ASK, host, str(port), path, json.dumps(headers or {})],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=LIMIT_SECONDS,
    )
    assert done.stderr == ""
    status, heard, body = json.loads(done.stdout)
    return Heard(status, {name.lower(): value for name, value in heard.items()}, body)


@pytest.fixture
def network() -> Iterator[Network]:
    with remote_address.network() as made:
        yield made


@pytest.fixture
def everywhere(tmp_path: Path, network: Network) -> Iterator[Served]:
    """A gateway process that listens on all addresses of that network."""
    root = session_in(tmp_path).gateway_root
    command = network.command(*GATEWAY, str(root))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            yield Served(port=_port_of(root, process), root=root)
        finally:
            process.terminate()


def _port_of(root: Path, process: subprocess.Popen[bytes]) -> int:
    while process.poll() is None:
        if (root / gf.CURRENT_INSTANCE).exists():
            port: int = json.loads((root / gf.CURRENT_INSTANCE).read_bytes())["port"]
            return port
    assert process.stdout is not None
    raise AssertionError(process.stdout.read().decode())


@pytest.mark.needs_host("network namespace")
def test_beyond_loopback_the_token_is_needed(network: Network, everywhere: Served) -> None:
    """It is in a file of the owner's; loopback and the name rules there stay as they are."""
    shown = (everywhere.root / gf.TOKEN).read_text().strip()
    bearer = {"authorization": f"Bearer {shown}"}
    questions: list[dict[str, Any]] = [
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1", "headers": {"host": "evil.example", **bearer}},
        {"host": BEYOND},
        {"host": BEYOND, "headers": {"host": "127.0.0.1"}},
        {"host": BEYOND, "headers": {"authorization": "Bearer " + "x" * len(shown)}},
        {"host": BEYOND, "headers": bearer},
        {"host": BEYOND, "headers": {"origin": "https://evil.example", **bearer}},
        {"host": BEYOND, "headers": bearer, "path": "/v1/mail/status"},
        {"host": "127.0.0.1", "path": "/v1/mail/status"},
    ]

    answers = [ask(*network.command(), port=everywhere.port, **question) for question in questions]

    assert [answer.status for answer in answers] == [200, 403, 401, 401, 401, 200, 403, 503, 503]
    assert answers[2].headers["www-authenticate"] == "Bearer"
    assert answers[5].body == HEALTHY
    assert files_with(everywhere.root, shown.encode()) == [everywhere.root / gf.TOKEN]


@pytest.mark.needs_host("network namespace")
def test_another_user_on_this_machine_is_turned_away_even_with_the_token(
    network: Network, everywhere: Served
) -> None:
    """The kernel says whose a loopback connection is, and that decides."""
    shown = (everywhere.root / gf.TOKEN).read_text().strip()
    headers = {"authorization": f"Bearer {shown}"}

    answer = ask(*network.command(), host="127.0.0.1", port=everywhere.port, uid=NOBODY, headers=headers)

    assert (answer.status, answer.body) == (
        403,
        {"detail": "Only the user that this process belongs to is served"},
    )


def test_a_token_that_others_can_read_opens_no_listener(tmp_path: Path) -> None:
    """The gateway does not start, says which file and what to do, and does not say the token."""
    root = session_in(tmp_path).gateway_root
    exposed = root / gf.TOKEN
    exposed.write_text("0123456789abcdefghijklmnopqrstuv\n")
    exposed.chmod(0o644)

    done = subprocess.run([*GATEWAY, str(root)], capture_output=True, text=True, timeout=LIMIT_SECONDS)

    assert done.returncode == 1
    told = f"{exposed} is not a file of this user alone; remove it and start again to get a new token"
    assert done.stderr == f"gateway: {told}\n"


@pytest.mark.needs_host("root")
def test_root_is_served_by_another_users_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may do everything anyway is not kept out."""
    # The gateway stays this process's; only its idea of whose it is changes.
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)

    with serving(tmp_path, FakeAgent) as served:
        assert ask(host="127.0.0.1", port=served.port).body == HEALTHY


def test_a_question_that_fails_lets_nobody_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is not served when we fail to ask whose it is."""

    def failing(*_: object) -> access.Peer:
        raise RuntimeError

    # No real fault is at hand.
    monkeypatch.setattr(access, "peer_of", failing)
    monkeypatch.setattr(connection, "_HEAD_SECONDS", 0.3)

    with (
        serving(tmp_path, FakeAgent) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=LIMIT_SECONDS) as peer,
    ):
        assert _is_dropped(peer)


def test_strangers_can_not_fill_the_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a few the oldest is dropped, and our own user is served meanwhile."""
    strangers: set[int] = set()
    # Many real connections of another user need root; whose they are is tested above.
    monkeypatch.setattr(access, "peer_of", lambda peer, _: "other_user" if peer[1] in strangers else "own")
    monkeypatch.setattr(connection, "_MAX_UNAUTHENTICATED", 2)

    with serving(tmp_path, FakeAgent) as served, ExitStack() as open_sockets:
        peers = []
        for _ in range(3):
            peer = open_sockets.enter_context(socket.socket())
            peer.bind(("127.0.0.1", 0))
            strangers.add(peer.getsockname()[1])
            peer.settimeout(LIMIT_SECONDS)
            peer.connect(("127.0.0.1", served.port))
            peers.append(peer)
        assert _is_dropped(peers[0])

        assert ask(host="127.0.0.1", port=served.port).body == HEALTHY


def _is_dropped(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True
