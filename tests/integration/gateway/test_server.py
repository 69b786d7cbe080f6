"""The listener: who is served, what it costs, how it stops."""

import asyncio
import http.client
import json
import logging
import os
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from posthouse.errors import Conflict
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.web import connection
from posthouse.web.server import Server, bind

ASK = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=120)
connection.request("GET", "/")
response = connection.getresponse()
print(response.status, response.read().decode())
"""


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"hello": scope["path"]})(scope, receive, send)


def serve(story: Callable[[int], Awaitable[None]], app: ASGIApp = hello) -> None:
    """Tell *story*, given the port of a server of *app*."""

    async def told() -> None:
        listener = bind("127.0.0.1", 0)
        server = Server(app, logging.getLogger("test"))
        serving = asyncio.create_task(server.listen(listener))
        try:
            await story(listener.getsockname()[1])
        finally:
            server.stop()
            await serving

    asyncio.run(told())


def ask(port: int) -> tuple[int, object, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)
    connection.request("GET", "/there")
    response = connection.getresponse()
    answer = response.status, json.loads(response.read()), response.headers["date"]
    connection.close()
    return answer


def test_our_own_user_is_served() -> None:
    """An answer has its date, as HTTP wants it."""

    async def story(port: int) -> None:
        status, body, date = await asyncio.to_thread(ask, port)

        assert (status, body) == (200, {"hello": "/there"})
        assert date is not None
        assert date.endswith(" GMT")

    serve(story)


@pytest.mark.needs_host("root")
def test_another_user_is_turned_away(tmp_path: Path) -> None:
    """A connection of somebody else on this machine gets 403, whatever it sends."""

    async def story(port: int) -> None:
        done = await asyncio.to_thread(
            subprocess.run,
            ["/usr/bin/env", "python3", "-c", ASK, str(port)],
            capture_output=True,
            text=True,
            user=65534,
            group=65534,
            cwd="/",
            env={"PATH": os.environ["PATH"]},
            check=False,
        )

        detail = '{"detail":"Only the user that this process belongs to is served"}'
        assert (done.stdout, done.stderr) == (f"403 {detail}\n", "")

    serve(story)


def test_a_taken_port_is_told() -> None:
    """The error names the address and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(Conflict, match=f"127.0.0.1:{port} .*choose another port, or 0 for any"):
            bind("127.0.0.1", port)


def test_an_idle_server_does_not_wake_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timer is set while nobody asks."""
    set_timers: list[float] = []

    async def story(port: int) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(ask, port)
        original = loop.call_at

        def recording(when: float, *rest: object, **more: object) -> asyncio.TimerHandle:
            set_timers.append(when)
            return original(when, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_at", recording)
        # Nothing can be waited for when nothing is to happen.
        await asyncio.to_thread(time.sleep, 0.5)
        monkeypatch.undo()

    serve(story)

    assert set_timers == []


def test_who_does_not_read_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that nobody takes is not kept for ever."""
    monkeypatch.setattr(connection, "_STALL_SECONDS", 0.3)
    is_given_up = asyncio.Event()

    async def flood(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b" " * (32 << 20), "more_body": True})
        await send({"type": "http.response.body", "body": b"the rest", "more_body": False})
        is_given_up.set()

    async def story(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            async with asyncio.timeout(LIMIT_SECONDS):
                await is_given_up.wait()

    serve(story, flood)
