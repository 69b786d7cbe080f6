"""Traces of the server: as spans in memory, and as a collector gets them."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

from posthouse.contracts import names
from posthouse.contracts.gateway_files import CurrentInstance
from posthouse.contracts.managed_agents_http import Done
from posthouse.events.journal import Journal
from posthouse.server import tracing_setup
from posthouse.server.gateways import GatewayLost, LiveGateway
from posthouse.server.turn_spans import TurnSpans
from posthouse.support.otel import OtelTracing
from posthouse.support.tracing import NO_TRACING
from posthouse.testing.gateway import call
from posthouse.testing.members import member
from posthouse.testing.peers import answering
from posthouse.web import app
from posthouse.web.route import Route
from posthouse.web.tracing import trace_requests

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collected:
    """A tracing whose spans stay here."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = OtelTracing(provider)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._exporter.get_finished_spans()}


def facts(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> str | None:
    shown: str | None = None if span.parent is None else format_span_id(span.parent.span_id)
    return shown


def context_of(span: ReadableSpan) -> SpanContext:
    context: SpanContext | None = span.get_span_context()
    assert context is not None
    return context


def id_of(span: ReadableSpan) -> str:
    shown: str = format_span_id(context_of(span).span_id)
    return shown


class _Silent:
    def on_invalid(self, *_: object) -> None: ...

    def on_refused(self, *_: object) -> None: ...


def instance(port: int) -> CurrentInstance:
    return CurrentInstance(
        schema_version=1,
        protocol_version="v1",
        pid=1,
        host="127.0.0.1",
        port=port,
        execution_mode="detached_process",
        managed_agent_instance_epoch=1,
        managed_agent_instance_id=None,
    )


def test_a_request_its_call_of_a_gateway_and_its_turn_are_one_trace(tmp_path: Path) -> None:
    """It goes on with the caller's trace, and the gateway can go on with ours."""
    collected, heard = Collected(), list[bytes]()

    def gateway(head: bytes) -> bytes:
        heard.append(head)
        return b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

    async def story(port: int) -> None:
        journal = Journal(tmp_path / "events.jsonl")
        spans = TurnSpans(journal, collected.tracing)
        live = LiveGateway(member("gpu"), instance(port), collected.tracing)

        async def handler(_: None, asked: object) -> Done:
            await live.request("GET", "/v1/status")
            journal.add("turn_started", agent_id="gpu", turn_id="t1")
            return Done()

        routes = [Route(method="POST", path="/turns/{id}", summary="", handler=handler, response=Done)]
        served = trace_requests(app.build(None, routes, observer=_Silent()), collected.tracing)
        await call(served, "POST", "/turns/7", headers={"traceparent": CALLER})
        journal.add("turn_ended", agent_id="gpu", turn_id="t1", status="failed")
        live.close()
        spans.close()
        journal.close()

    async def scenario() -> None:
        async with answering(gateway) as port:
            await story(port)
        with pytest.raises(GatewayLost):
            await LiveGateway(member("gpu"), instance(port), collected.tracing).request(
                "POST", "/v1/requests"
            )

    asyncio.run(scenario())

    spans = collected.spans
    request, called, turn = spans["POST /turns/{id}"], spans["GET gateway"], spans["headless turn"]
    trace = {format_trace_id(context_of(span).trace_id) for span in (request, called, turn)}
    assert trace == {CALLER.split("-")[1]}
    assert [parent_of(one) for one in (request, called, turn)] == [
        CALLER.split("-")[2],
        id_of(request),
        id_of(request),
    ]
    assert facts(request) == {
        "http.request.method": "POST",
        "http.route": "/turns/{id}",
        "http.response.status_code": 200,
    }
    assert facts(called) == {
        "posthouse.agent.id": "gpu",
        "url.path": "/v1/status",
        "http.response.status_code": 200,
    }
    assert facts(turn) == {
        "posthouse.agent.id": "gpu",
        "posthouse.turn.id": "t1",
        "posthouse.turn.status": "failed",
    }
    assert f"traceparent: 00-{CALLER.split('-')[1]}-{id_of(called)}-01".encode() in heard[0].lower()
    assert spans["POST gateway"].status.description == "GatewayLost"


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A receiver of OTLP over HTTP, and what it received."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_collector_that_is_named_gets_the_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """By OTLP over HTTP, at the latest when the server ends."""
    with collector() as (address, received):
        # The SDK reads its own variables where they are.
        monkeypatch.setenv(names.OTEL_ENDPOINTS[1], address)
        tracing = tracing_setup.configure_tracing(
            {names.OTEL_ENDPOINTS[1]: address}, logging.getLogger("test")
        )
        with tracing.client_span("GET gateway"):
            pass
        tracing.close()

    [export] = received
    [resource] = export.resource_spans
    told = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert told["service.name"] == "posthouse-server"
    assert [span.name for span in resource.scope_spans[0].spans] == ["GET gateway"]


UNWANTED = {
    "nobody named": {},
    "switched off": {names.OTEL_ENDPOINTS[0]: "http://127.0.0.1:1", names.OTEL_DISABLED: "true"},
    "another way": {names.OTEL_ENDPOINTS[1]: "http://127.0.0.1:1", names.OTEL_EXPORTER: "none"},
}


@pytest.mark.parametrize("environment", UNWANTED.values(), ids=UNWANTED.keys())
def test_without_a_collector_nothing_is_traced_and_nothing_wrapped(environment: dict[str, str]) -> None:
    """It costs nothing at all."""
    tracing = tracing_setup.configure_tracing(environment, logging.getLogger("test"))
    served = app.build(None, [], observer=_Silent())

    assert tracing is NO_TRACING
    assert trace_requests(served, tracing) is served
