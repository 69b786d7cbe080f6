"""The server's process beyond loopback, in a network of its own: each token, and one that comes and goes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import server_files as cf
from posthouse.server.token_store import TokenStore
from posthouse.testing import remote_address
from posthouse.testing.remote_address import BEYOND, Network
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

#: Asks `host port` each line of stdin, a method, a path and a token, and prints the answers.
ASK = """
import http.client, json, sys
host, port = sys.argv[1:]
for line in sys.stdin:
    method, path, token = json.loads(line)
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    connection.request(method, path, headers={"authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    told = json.loads(response.read())
    print(json.dumps([response.status, told.get("detail")]), flush=True)
"""
Told = list[Any]


#: Reads the events of `host port token` until the server ends them.
FOLLOW = """
import http.client, sys
host, port, token = sys.argv[1:]
connection = http.client.HTTPConnection(host, int(port), timeout=120)
connection.request("GET", "/houmao/events", headers={"authorization": f"Bearer {token}"})
response = connection.getresponse()
print(response.status, flush=True)
try:
    while response.readline():
        print("line", flush=True)
except (ConnectionError, http.client.IncompleteRead):
    pass
print("cut", flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Far:
    """A server, and somebody elsewhere who asks it."""

    asking: subprocess.Popen[str]
    tokens: TokenStore
    network: Network
    port: int

    def ask(self, method: str, path: str, token: str | None) -> Told:
        """The status, and what a refusal says."""
        assert self.asking.stdin is not None
        assert self.asking.stdout is not None
        self.asking.stdin.write(json.dumps([method, path, token]) + "\n")
        self.asking.stdin.flush()
        told: Told = json.loads(self.asking.stdout.readline())
        return told

    def token(self, name: str, scope: str) -> str:
        return (self.tokens.root / scope / name).read_text().strip()


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    servers = tmp_path / "runtime" / cf.SERVERS
    roots = ["--registry-root", str(tmp_path / "registry"), "--runtime-root", str(tmp_path / "runtime")]
    command = [sys.executable, "-m", "posthouse.server", "--host", "0.0.0.0", "--port", "0", *roots]
    with remote_address.network() as network, subprocess.Popen(network.command(*command)) as server:
        try:
            port = _port_of(servers, server)
            asking = network.command(sys.executable, "-I", "-c", ASK, BEYOND, str(port))
            with subprocess.Popen(asking, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
                yield Far(asking=peer, tokens=TokenStore(servers / cf.TOKENS), network=network, port=port)
        finally:
            server.terminate()


def _port_of(servers: Path, server: subprocess.Popen[bytes]) -> int:
    found: list[Path] = []

    def is_up() -> bool:
        assert server.poll() is None, "the server ended"
        found[:] = servers.glob(f"*/{cf.CURRENT_INSTANCE}")
        return bool(found)

    wait_for(is_up, seconds=LIMIT_SECONDS)
    return int(json.loads(found[0].read_bytes())["api_base_url"].rpartition(":")[2])


@pytest.mark.needs_host("network namespace")
def test_a_token_allows_what_its_scope_says_for_as_long_as_it_is_there(far: Far) -> None:
    """Nobody without one is served; the tokens of the first start are in files; a revoked one is refused."""
    prompt, shutdown = "/houmao/agents/nobody/requests", "/houmao/server/shutdown"
    scopes = {scope: far.token(f"default-{scope}", scope) for scope in ("read", "prompt", "admin")}

    assert far.ask("GET", "/health", None)[0] == 401
    assert far.ask("GET", "/health", "x" * 43) == [401, "That is not the token"]
    assert [far.ask("GET", "/houmao/agents", token)[0] for token in scopes.values()] == 3 * [200]
    assert [far.ask("POST", prompt, token)[0] for token in scopes.values()] == [403, 422, 422]
    assert far.ask("POST", shutdown, scopes["prompt"]) == [
        403,
        "This needs a token of scope 'admin'; yours has 'prompt'",
    ]
    far.tokens.create("phone", "read")
    phone = far.token("phone", "read")
    wait_for(lambda: far.ask("GET", "/health", phone)[0] == 200)
    far.tokens.revoke("phone")
    wait_for(lambda: far.ask("GET", "/health", phone)[0] == 401)
    assert far.ask("POST", shutdown, scopes["admin"])[0] == 200


@pytest.mark.needs_host("network namespace")
def test_a_stream_ends_when_its_token_is_revoked(far: Far) -> None:
    """A reader of events whose token is revoked reads no further; another one reads on."""
    far.tokens.create("phone", "read")
    phone, kept = far.token("phone", "read"), far.token("default-read", "read")
    wait_for(lambda: far.ask("GET", "/health", phone)[0] == 200)

    with _following(far, phone) as revoked, _following(far, kept) as other:
        assert revoked.stdout is not None
        far.tokens.revoke("phone")
        told = revoked.stdout.read()
        is_reading = other.poll() is None
        other.kill()

    assert told.endswith("cut\n")
    assert is_reading


def _following(far: Far, token: str) -> "subprocess.Popen[str]":
    """A reader of events, once the server has begun to answer it."""
    words = far.network.command(sys.executable, "-I", "-c", FOLLOW, BEYOND, str(far.port), token)
    reader = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "200\n"
    return reader
