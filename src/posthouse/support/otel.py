"""OpenTelemetry tracing, the extra `posthouse[otel]`. Imported only when traces are exported."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span as Spanned
from opentelemetry.trace import SpanKind, Status, StatusCode, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from posthouse import __version__
from posthouse.support.tracing import AttributeValue, Span

_CLOSE_MILLISECONDS = 3000


class OtelSpan:
    """Adapts a span of the SDK to `Span`."""

    def __init__(self, span: Spanned) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set_attribute(self, name: str, value: AttributeValue) -> None:
        self._span.set_attribute(name, value)

    def fail(self, reason: str) -> None:
        self._span.set_status(Status(StatusCode.ERROR, reason))

    def end(self) -> None:
        self._span.end()


class OtelTracing:
    """Spans of one process, sent to *provider*."""

    is_enabled = True

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("posthouse", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def server_span(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        return self._current(name, SpanKind.SERVER, self._propagator.extract(headers))

    def client_span(self, name: str) -> AbstractContextManager[Span]:
        return self._current(name, SpanKind.CLIENT)

    def start_span(self, name: str) -> Span:
        return OtelSpan(self._tracer.start_span(name))

    def propagation_headers(self) -> Mapping[str, str]:
        headers: dict[str, str] = {}
        self._propagator.inject(headers)
        return headers

    def close(self) -> None:
        self._provider.force_flush(_CLOSE_MILLISECONDS)
        self._provider.shutdown()

    @contextmanager
    def _current(self, name: str, kind: SpanKind, parent: Context | None = None) -> Iterator[Span]:
        span = self._tracer.start_span(name, context=parent, kind=kind)
        # An error message may contain the prompt; record the class only.
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield OtelSpan(span)
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise


def otlp_tracing(service_name: str) -> OtelTracing:
    """Tracing that exports by OTLP over HTTP, configured by the SDK's variables (`OTEL_…`), in a thread."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    resource = Resource.create({"service.name": service_name, "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OtelTracing(provider)
