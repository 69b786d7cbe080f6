"""One HTTP connection to the model API: which path is which, and the pace of an answer."""

import functools
import json
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from posthouse.testing.model_api import anthropic, gemini, openai
from posthouse.testing.model_api.recording import Asked, Recorder
from posthouse.testing.model_api.script import BadStep, Step, next_step
from posthouse.testing.model_api.stage import Stage
from posthouse.testing.model_api.wire import Call, Event, WireFormat

MAX_BODY_BYTES = 64 * 1024 * 1024
_CHARS_PER_TOKEN = 4
_NO_MODELS = {"object": "list", "data": [], "models": []}

#: By how a path ends; the vendors' clients put different things before it.
_FORMATS: Mapping[str, tuple[str, WireFormat]] = {
    "/messages": ("anthropic", anthropic),
    "/responses": ("openai", openai),
    "/responses/compact": ("openai", openai),
    ":generateContent": ("gemini", gemini),
    ":streamGenerateContent": ("gemini", gemini),
}
_TOKEN_COUNTERS = {"/count_tokens": "input_tokens", ":countTokens": "totalTokens"}


class Dropped(ConnectionError):
    """The script broke the connection."""


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *connection: Any, stage: Stage, recorder: Recorder, is_verbose: bool) -> None:
        self._stage = stage
        self._recorder = recorder
        self._is_verbose = is_verbose
        super().__init__(*connection)  # serves the connection before it returns

    def log_message(self, format: str, *args: Any) -> None:
        if self._is_verbose:
            sys.stderr.write(f"{self.command} {self.path}\n")

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/_mock/health":
            self._send_json({"ok": True, "requests": len(self._recorder.since(0))})
        elif url.path == "/_mock/requests":
            seq = int(parse_qs(url.query).get("since", ["0"])[0])
            self._send_json([asdict(record) for record in self._recorder.since(seq)])
        elif url.path.endswith("/models"):
            self._send_json(_NO_MODELS)
        else:
            self._send_json({})

    def do_POST(self) -> None:
        raw = self._read_body()
        path = urlsplit(self.path).path
        if path.startswith("/_mock/"):
            self._control(path, _json_object(raw))
            return
        for ending, name in _TOKEN_COUNTERS.items():
            if path.endswith(ending):
                self._send_json({name: max(1, len(raw) // _CHARS_PER_TOKEN)})
                return
        for ending, (api, wire_format) in _FORMATS.items():
            if path.endswith(ending):
                self._play(api, wire_format, raw)
                return
        self._send_json({})

    def _control(self, path: str, body: Mapping[str, Any]) -> None:
        """One command of a test."""
        try:
            if path == "/_mock/release":
                self._stage.release()
            elif path == "/_mock/next":
                self._stage.queue(Step.parse("queued", body))
            elif path == "/_mock/reset":
                self._stage.reset()
                self._recorder.forget()
        except BadStep as error:
            self._send_json({"ok": False, "error": str(error)}, status=400)
        else:
            self._send_json({"ok": True})

    def _play(self, api: str, wire_format: WireFormat, raw: bytes) -> None:
        """Answer a call by its script, and record how that went."""
        call = wire_format.read(self.path, _json_object(raw))
        step = self._step_for(call)
        record = self._recorder.begin(
            Asked(
                api=api,
                path=self.path,
                call=call,
                body=raw,
                step=step.key,
                user_agent=self.headers.get("user-agent"),
            )
        )
        try:
            self._answer(wire_format, call, step, ended=functools.partial(self._recorder.end, record))
        except ConnectionError as error:
            outcome = "dropped" if isinstance(error, Dropped) else "client_gone"
            self._recorder.end(record, outcome, gone_after_s=round(time.time() - record.at, 3))
            raise

    def _step_for(self, call: Call) -> Step:
        queued = self._stage.take_queued() if call.is_main else None
        return queued or next_step(call.history)

    def _answer(
        self, wire_format: WireFormat, call: Call, step: Step, *, ended: Callable[[str], None]
    ) -> None:
        """Send the answer. *ended* is told the outcome before the client can know that it has all of it."""
        if not call.is_main and step.status is None:
            step = Step(text="Mock side answer")
        self._stage.pause(step.delay_seconds)
        if self._stage.should_fail(step):
            ended(f"error {step.status}")
            self._send_json(wire_format.failure(step), status=step.status or 500, headers=step.headers)
            return
        step = call.demanded or step
        if call.is_streaming:
            self._stream(wire_format.events(call, step, self._paced(step)), ended=ended)
        else:
            ended("completed")
            self._send_json(wire_format.answer(call, step))

    def _paced(self, step: Step) -> Iterator[str]:
        """The text's deltas, each when it is due."""
        deltas = step.deltas
        releases_before = self._stage.releases
        self._stage.pause(step.first_delay_seconds)
        for index, delta in enumerate(deltas):
            if index == step.drop_after:
                self._hang_up()
            if step.hold and index == len(deltas) // 2:
                self._stage.wait_for_release(after=releases_before)
            yield delta
            self._stage.pause(step.chunk_delay_seconds)

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # the other side was quicker
            self.connection.shutdown(socket.SHUT_RDWR)
        raise Dropped("as the script says")

    def _read_body(self) -> bytes:
        """The request's body.

        Raises:
            ConnectionError: It is larger than anything an agent sends.
        """
        if (self.headers.get("transfer-encoding") or "").lower() != "chunked":
            return self._read(int(self.headers.get("content-length") or 0), already=0)
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self._read(size, already=len(body))
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _read(self, size: int, *, already: int) -> bytes:
        if already + size > MAX_BODY_BYTES:
            raise ConnectionError(f"a body of more than {MAX_BODY_BYTES} bytes")
        return self.rfile.read(size)

    def _send_json(
        self, payload: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Event], *, ended: Callable[[str], None]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            if event.is_last:
                ended("completed")
            self._send_chunk(_encoded(event))
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _json_object(raw: bytes) -> Mapping[str, Any]:
    """The body as a mapping; anything else is an empty one."""
    try:
        found = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _encoded(event: Event) -> bytes:
    name = f"event: {event.name}\n" if event.name else ""
    return f"{name}data: {json.dumps(event.payload)}\n\n".encode()
