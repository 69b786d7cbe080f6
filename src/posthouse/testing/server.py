"""A coordination server in a thread of the test's own, asked over a real socket, and begun again as often."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import uvloop

from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts import names
from posthouse.contracts import server_files as cf
from posthouse.server.http import app
from posthouse.server.service import ServerService
from posthouse.sessions.agents import Agents
from posthouse.support import clock, files
from posthouse.testing.waiting import wait_for
from posthouse.web.server import Server, bind

_LIMIT_SECONDS = 180.0
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    base_url: str, method: str, path: str, body: object = None, headers: Mapping[str, str] = _NONE
) -> Answer:
    """One question to a server, and its answer, whatever it is."""
    content = None if body is None else json.dumps(body).encode()
    sent = {**headers, **({} if content is None else {"content-type": "application/json"})}
    request = urllib.request.Request(f"{base_url}{path}", content, sent, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_LIMIT_SECONDS) as answer:
            return Answer(status=answer.status, body=answer.read(), headers=dict(answer.headers.items()))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(status=error.code, body=error.read(), headers=dict(error.headers.items()))


@dataclass(slots=True, kw_only=True)
class Served:
    """A server that listens."""

    service: ServerService
    base_url: str
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("coordination-test"))

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] = _NONE) -> Answer:
        return ask(self.base_url, method, path, body, headers)

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, body: object = None, headers: Mapping[str, str] = _NONE) -> Answer:
        return self.ask("POST", path, body, headers)


@contextmanager
def serving(agents: Agents, *, port: int = 0) -> Iterator[Served]:
    """A server over *agents*. One on the same port finds what an earlier one left."""
    listener = bind("127.0.0.1", port)
    port = listener.getsockname()[1]
    root = files.private_folder(agents.roots.runtime / cf.SERVERS / f"127.0.0.1-{port}")
    log = logging.getLogger("coordination-test")
    is_up = threading.Event()
    made: list[tuple[asyncio.AbstractEventLoop, ServerService]] = []

    async def serve() -> None:
        instance = wire.ServerInstance(
            pid=os.getpid(),
            api_base_url=f"http://127.0.0.1:{port}",
            server_root=str(root),
            started_at_utc=clock.iso_seconds(clock.now()),
        )
        coordination = ServerService(agents, instance, log)
        made.append((asyncio.get_running_loop(), coordination))
        server = Server(app.build(coordination), log, on_stop=coordination.operations.event_readers.stop)
        await coordination.open()
        serving = asyncio.create_task(server.listen(listener))
        is_up.set()
        await coordination.stopping.wait()
        server.stop()
        await serving
        await coordination.close()

    thread = threading.Thread(target=uvloop.run, args=(serve(),), name="coordination")
    thread.start()
    try:
        if not is_up.wait(_LIMIT_SECONDS):
            raise TimeoutError("the server did not start")
        yield Served(service=made[0][1], base_url=f"http://127.0.0.1:{port}")
    finally:
        loop, coordination = made[0]
        loop.call_soon_threadsafe(coordination.stopping.set)
        thread.join()


class ServerProcess:
    """A server in a process of its own, which can be killed and begun again on the same port."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        with closing(bind("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def root(self) -> Path:
        return self._agents.roots.runtime / cf.SERVERS / f"127.0.0.1-{self.port}"

    def start(self, *, seconds: float = _LIMIT_SECONDS) -> None:
        """Begin, and answer."""
        roots = self._agents.roots
        words = ["--registry-root", str(roots.registry), "--runtime-root", str(roots.runtime)]
        socket = self._agents.server.socket
        environment = os.environ | roots.variables() | ({names.TMUX_SOCKET: socket} if socket else {})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "posthouse.server", "--port", str(self.port), *words],
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        wait_for(self.is_there, seconds=seconds)

    def is_there(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server ended"
        try:
            return ask(self.base_url, "GET", "/health").status == HTTPStatus.OK
        except OSError:
            return False

    def kill(self) -> None:
        """End it at once, wherever it is."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
