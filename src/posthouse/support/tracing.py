"""The tracing interface. Traced code depends on this module only, not on an exporter."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

AttributeValue = str | int


class Span(Protocol):
    """One timed operation."""

    def rename(self, name: str) -> None: ...

    def set_attribute(self, name: str, value: AttributeValue) -> None:
        """Add an attribute. Never a prompt, a header or a secret."""

    def fail(self, reason: str) -> None:
        """Mark it as failed."""

    def end(self) -> None:
        """End a span that `start_span` started."""


class Tracing(Protocol):
    """The tracer of a process. Never fails: without its collector, spans are lost."""

    is_enabled: bool

    def server_span(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        """A span around a served request; it continues the caller's trace from *headers*."""

    def client_span(self, name: str) -> AbstractContextManager[Span]:
        """A span around an outgoing call."""

    def start_span(self, name: str) -> Span:
        """A span that outlives the code that starts it. The caller ends it."""

    def propagation_headers(self) -> Mapping[str, str]:
        """The headers that propagate this trace to a called service."""

    def close(self) -> None:
        """Flush unsent spans. Blocks for a few seconds at most."""


class _NoopSpan:
    def rename(self, name: str) -> None: ...

    def set_attribute(self, name: str, value: AttributeValue) -> None: ...

    def fail(self, reason: str) -> None: ...

    def end(self) -> None: ...


_NO_SPAN = _NoopSpan()
_NO_HEADERS: Mapping[str, str] = {}


class NoopTracing:
    """Tracing is off."""

    is_enabled = False

    def server_span(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        return nullcontext(_NO_SPAN)

    def client_span(self, name: str) -> AbstractContextManager[Span]:
        return nullcontext(_NO_SPAN)

    def start_span(self, name: str) -> Span:
        return _NO_SPAN

    def propagation_headers(self) -> Mapping[str, str]:
        return _NO_HEADERS

    def close(self) -> None:
        """Does nothing."""


NO_TRACING = NoopTracing()
