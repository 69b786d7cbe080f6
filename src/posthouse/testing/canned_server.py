"""A server that answers as it is told, for tests of whoever asks."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    method: str
    target: str
    body: Any
    headers: Message


class Told(ThreadingHTTPServer):
    """Answers everything with one answer and keeps what it was asked."""

    daemon_threads = True
    answer: tuple[int, bytes] = (200, b"{}")
    #: By path, before the one answer.
    answers: Mapping[str, tuple[int, bytes]]
    asked: list[Asked]
    #: Whether answers come in many small pieces.
    is_chunked = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Told
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = Asked(self.command, self.path, json.loads(content) if content else None, self.headers)
        self.server.asked.append(told)
        status, body = self.server.answers.get(self.path, self.server.answer)
        self.send_response(status)
        if self.server.is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"".join(_chunks(body))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, format: str, *arguments: Any) -> None: ...


def _chunks(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 7):
        piece = body[start : start + 7]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


@contextmanager
def told() -> Iterator[Told]:
    """One that listens on a free port of loopback until the end."""
    with Told(("127.0.0.1", 0), Handler) as server:
        server.answers, server.asked = {}, []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
