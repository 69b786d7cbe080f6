"""Receipts: the stages a prompt has reached, and the state derived from them.

A prompt is accepted, started (its delivery began), typed, submitted, acknowledged (the agent confirmed it),
and ends. The middle stages depend on the agent: nothing is typed for a headless turn. `unknown` is not an
end: later evidence replaces it.
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
#: Order of the stages. A wait for one ends when a later one is reached.
PROGRESS: tuple[StageName, ...] = ("accepted", "started", "typed", "submitted", "acknowledged")

#: In characters: a UUID with a prefix fits.
MAX_KEY_LENGTH = 255


def key_reused() -> InvalidInput:
    """The error for an idempotency key that was used for a different request."""
    return InvalidInput(
        "this Idempotency-Key was used for another request; a new request needs a key of its own",
        code="idempotency_key_reused",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """Identifies a repeated request."""

    name: str
    #: A digest of the request; a different one under the same name is refused.
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """The response to the first request under a key."""

    request_id: str
    #: None: the request was accepted, but its response was not stored.
    answer: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptStage:
    """One stage that a prompt has reached."""

    name: StageName
    #: With microseconds.
    at_utc: str
    #: `evidence` is the source; an end also has the outcome, as far as it is known.
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Everything on disk about one prompt or interrupt, queued or direct."""

    sequence: int
    request_id: str
    kind: str
    payload: Mapping[str, Any]
    epoch: int
    accepted_at_utc: str
    #: State of the contract's row; None for a direct prompt.
    row_state: State | None
    error: str | None
    turn_id: str | None
    stages: tuple[ReceiptStage, ...]

    def stage(self, name: StageName) -> ReceiptStage | None:
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def end(self) -> ReceiptStage | None:
        """The proven end; None before that."""
        return next((stage for stage in self.stages if stage.name in ENDS), None)

    @property
    def state(self) -> ReceiptState:
        """The state derived from the stages; for a row of another implementation, from the row."""
        for end in ENDS:
            if self.stage(end) is not None:
                return end
        if self.stage("unknown") is not None:
            return "unknown"
        if self.stage("started") is not None:
            return "running"
        return self.row_state or "accepted"

    def has_reached(self, name: StageName | None) -> bool:
        """Whether *name* was reached or can't be reached any more; None means the end."""
        if self.state not in ("accepted", "running"):
            return True
        if name not in PROGRESS:
            return False
        reached = {stage.name for stage in self.stages}
        return any(later in reached for later in PROGRESS[PROGRESS.index(name) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectPrompt:
    """A prompt that is delivered without the queue."""

    kind: Literal["control_prompt", "reminder"]
    payload: Mapping[str, Any]
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReached:
    """A stage that a prompt has just reached."""

    request_id: str
    stage: ReceiptStage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptFilter:
    """Selects receipts, newest first."""

    state: ReceiptState | None = None
    kind: str | None = None
    #: Accepted at or after this time.
    since_utc: str | None = None
    #: Only below this sequence, which is the cursor of the previous page.
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptList:
    """One page of receipts."""

    receipts: Sequence[Receipt]
    #: Cursor of the next page; None: this is the last page.
    next_before: int | None


class Receipts(Protocol):
    """Receipts of all requests and direct prompts.

    Writes are on disk when a call returns; a call that raises `QueueUnavailable` changed nothing.
    """

    async def accept(self, prompt: DirectPrompt, *, key: IdempotencyKey | None = None) -> str:
        """Create the receipt of a direct prompt; its request id.

        Raises:
            InvalidInput: The key has a request already; nothing was accepted.
        """

    async def start(self, request_id: str, *, turn_id: str | None = None) -> bool:
        """Record that the delivery of a direct prompt begins. False: it was cancelled."""

    async def cancel(self, request_id: str) -> bool:
        """Cancel a direct prompt. False: it has started, and nothing was changed."""

    async def undo_start(self, request_id: str) -> None:
        """Remove the start of a prompt of which nothing reached the agent."""

    async def record(self, passed: Sequence[StageReached]) -> None:
        """Record stages. Recorded stages stay, and nothing is added after an end."""

    async def read(self, request_id: str) -> Receipt | None:
        """One receipt; None when it is unknown or was pruned."""

    async def page(self, wanted: ReceiptFilter) -> ReceiptList:
        """The newest receipts that match."""

    async def unfinished(self) -> list[Receipt]:
        """Prompts that were given to the agent and have no recorded end, oldest first."""

    async def stored_response(self, key: IdempotencyKey) -> StoredResponse | None:
        """The stored response of *key*; None when the key is new or expired.

        Raises:
            InvalidInput: The key was used for a different request.
        """

    async def store_response(self, key: IdempotencyKey, answer: Mapping[str, Any]) -> None:
        """Store the response to the first request under *key* for its repeats."""
