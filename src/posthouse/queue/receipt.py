"""What became of a prompt: the stages it has passed, and the state that follows from them.

A prompt is accepted, started (somebody took it to the agent), typed, submitted, acknowledged (the agent's own
word), and ends. Which of the middle stages there are depends on the agent: nothing is typed for a headless
turn. `unknown` is no end: evidence that comes later is believed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from posthouse.errors import InvalidInput
from posthouse.queue.queue import State

StageName = Literal[
    "accepted",
    "started",
    "typed",
    "submitted",
    "acknowledged",
    "completed",
    "failed",
    "interrupted",
    "cancelled",
    "coalesced",
    "unknown",
]
ReceiptState = Literal[
    "accepted", "running", "completed", "failed", "interrupted", "cancelled", "coalesced", "unknown"
]
End = Literal["completed", "failed", "interrupted", "cancelled", "coalesced"]

ENDS: tuple[End, ...] = ("completed", "failed", "interrupted", "cancelled", "coalesced")
#: The order in which stages are passed; a wait for one is over when a later one is reached.
PROGRESS: tuple[StageName, ...] = ("accepted", "started", "typed", "submitted", "acknowledged")

#: Of a key, in characters. Long enough for a UUID with a name before it.
MAX_KEY_LENGTH = 255


class KeyReused(InvalidInput):
    """Another request was made under the same idempotency key."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key was used for another request; a new request needs a key of its own"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What makes a repeated request the same request."""

    name: str
    #: A digest of what was asked; another one under the same name is refused.
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAnswer:
    """What the first request under a key was answered."""

    request_id: str
    #: None: it was accepted, and nobody knows what its caller was told.
    answer: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Something that a prompt has passed."""

    name: StageName
    #: With its fraction of a second.
    at_utc: str
    #: `evidence`: how it is known; with an end also what came of it, as far as that is known.
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Everything on disk about one prompt or interrupt, whichever way it came."""

    sequence: int
    request_id: str
    kind: str
    payload: Mapping[str, Any]
    epoch: int
    accepted_at_utc: str
    #: The contract's row; None for what went past the queue.
    row_state: State | None
    error: str | None
    turn_id: str | None
    stages: tuple[Stage, ...]

    def stage(self, name: StageName) -> Stage | None:
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def end(self) -> Stage | None:
        """Its proven end; None before that."""
        return next((stage for stage in self.stages if stage.name in ENDS), None)

    @property
    def state(self) -> ReceiptState:
        """What follows from the stages; for a row of another implementation, from the row."""
        for end in ENDS:
            if self.stage(end) is not None:
                return end
        if self.stage("unknown") is not None:
            return "unknown"
        if self.stage("started") is not None:
            return "running"
        return self.row_state or "accepted"

    def has_reached(self, name: StageName | None) -> bool:
        """Whether it has passed *name*, or can't any more; None asks for the end."""
        if self.state not in ("accepted", "running"):
            return True
        if name not in PROGRESS:
            return False
        reached = {stage.name for stage in self.stages}
        return any(later in reached for later in PROGRESS[PROGRESS.index(name) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQueue:
    """A prompt that goes to the agent past the queue."""

    kind: Literal["control_prompt", "reminder"]
    payload: Mapping[str, Any]
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A stage that a prompt has passed just now."""

    request_id: str
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which receipts somebody wants to see, newest first."""

    state: ReceiptState | None = None
    kind: str | None = None
    #: Accepted at or after this time.
    since_utc: str | None = None
    #: Below this sequence: where the last page ended.
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of the receipts."""

    receipts: Sequence[Receipt]
    #: Where the next page begins; None: this was the last.
    next_before: int | None


class Receipts(Protocol):
    """What became of everything that was asked.

    A call that returns is on disk; a call that raises `QueueUnavailable` changed nothing.
    """

    async def accept(self, prompt: PastQueue, *, key: Key | None = None) -> str:
        """Begin the receipt of a prompt that goes past the queue; its request id.

        Raises:
            KeyReused: The key has a request already; nothing was accepted.
        """

    async def start(self, request_id: str, *, turn_id: str | None = None) -> bool:
        """Record that a prompt past the queue is now given to the agent. False: it was taken back."""

    async def cancel(self, request_id: str) -> bool:
        """Take back a prompt past the queue that has not started. False: it has, and nothing was changed."""

    async def put_back(self, request_id: str) -> None:
        """Nothing of it reached the agent: it has not started after all."""

    async def pass_(self, passed: Sequence[Passed]) -> None:
        """Record stages. What is recorded already stays; nothing comes after an end."""

    async def read(self, request_id: str) -> Receipt | None:
        """One receipt; None when there is none (any more)."""

    async def page(self, wanted: Filter) -> Page:
        """The newest receipts that fit."""

    async def unended(self) -> list[Receipt]:
        """Prompts that the agent was given and whose end was never seen, oldest first."""

    async def first_answer(self, key: Key) -> FirstAnswer | None:
        """What was answered under *key*; None when it is new or has expired.

        Raises:
            KeyReused: Something else was asked under it.
        """

    async def keep_answer(self, key: Key, answer: Mapping[str, Any]) -> None:
        """Keep what the first request under *key* was answered, for whoever repeats it."""
