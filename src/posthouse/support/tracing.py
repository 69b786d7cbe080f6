"""Where time goes, for those who collect traces. What is traced asks for this alone, whoever collects."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Fact = str | int


class Span(Protocol):
    """Something that takes time."""

    def rename(self, name: str) -> None:
        """Call it by what became known of it."""

    def note(self, fact: str, value: Fact) -> None:
        """Add a fact. Never a prompt, a header or a secret."""

    def fail(self, reason: str) -> None:
        """It did not do what it was to do."""

    def end(self) -> None:
        """It is over; for those that were begun by `begin`."""


class Tracing(Protocol):
    """What a process traces. Never fails: a collector that is away costs spans, nothing else."""

    is_on: bool

    def serving(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        """A request that is answered inside; it goes on with its caller's trace, which *headers* name."""

    def calling(self, name: str) -> AbstractContextManager[Span]:
        """A call of ours that is made inside."""

    def begin(self, name: str) -> Span:
        """Something that outlives what begins it. Whoever begins it ends it."""

    def passed_on(self) -> Mapping[str, str]:
        """The headers by which whoever is called goes on with this trace."""

    def close(self) -> None:
        """Send what was not sent. Takes a few seconds at most, and blocks."""


class _NoSpan:
    def rename(self, name: str) -> None: ...

    def note(self, fact: str, value: Fact) -> None: ...

    def fail(self, reason: str) -> None: ...

    def end(self) -> None: ...


_NO_SPAN = _NoSpan()
_NO_HEADERS: Mapping[str, str] = {}


class NoTracing:
    """Nobody collects traces."""

    is_on = False

    def serving(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        return nullcontext(_NO_SPAN)

    def calling(self, name: str) -> AbstractContextManager[Span]:
        return nullcontext(_NO_SPAN)

    def begin(self, name: str) -> Span:
        return _NO_SPAN

    def passed_on(self) -> Mapping[str, str]:
        return _NO_HEADERS

    def close(self) -> None:
        """Nothing is open."""


NO_TRACING = NoTracing()
