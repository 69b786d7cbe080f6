"""The contract of a wire format: a module that reads a vendor's requests and writes its answers."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from posthouse.testing.model_api.script import Entry, Step

#: A JSON object.
Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request for an answer, in terms that all formats share."""

    model: str | None
    history: Sequence[Entry]
    #: Names of the tools the caller offers.
    tools: Sequence[str]
    #: How hard the model shall think, in the vendor's own words.
    effort: Any
    is_streaming: bool
    #: A step that the form of the request demands, whatever the script says.
    demanded: Step | None = None

    @property
    def is_main(self) -> bool:
        """Whether this is the agent at work; side calls, for titles and such, offer no tools."""
        return bool(self.tools)


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    payload: Payload
    name: str | None = None
    #: Whether the client has the whole answer with it.
    is_last: bool = False


class WireFormat(Protocol):
    """A vendor's API. Nothing in it waits: pace and transport are the server's."""

    def read(self, path: str, body: Payload) -> Call: ...

    def answer(self, call: Call, step: Step) -> Payload:
        """The whole answer at once."""

    def events(self, call: Call, step: Step, deltas: Iterable[str]) -> Iterator[Event]:
        """The answer as a stream; *deltas* is the step's text, taken piece by piece as it is due."""

    def failure(self, step: Step) -> Payload:
        """The body of an error response."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asks for."""

    name: str
    arguments: Mapping[str, Any]


def tool_call(step: Step, declared: Sequence[str]) -> ToolCall | None:
    """What *step* asks for; a shell command goes to the first shell tool that the caller declared."""
    if step.tool:
        return ToolCall(step.tool, step.arguments)
    if not step.shell:
        return None
    shells: dict[str, Mapping[str, Any]] = {
        "Bash": {"command": step.shell, "description": "scripted command"},
        "exec_command": {"cmd": step.shell},
        "shell_command": {"command": step.shell},
        "shell": {"command": ["bash", "-lc", step.shell]},
        "run_shell_command": {"command": step.shell, "description": "scripted command"},
    }
    name = next((name for name in shells if name in declared), "Bash")
    return ToolCall(name, shells[name])


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"
