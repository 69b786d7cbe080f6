"""The interface of the queue and its value types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from posthouse.errors import Unavailable
from posthouse.queue.notifier import NotifierStore

if TYPE_CHECKING:
    from posthouse.queue.receipt import IdempotencyKey, Receipts

State = Literal["accepted", "running", "completed", "failed", "coalesced"]
#: What to do with requests that wait for a replaced agent.
Choice = Literal["replay", "discard"]
#: How an epoch was decided: explicitly, or by a known relaunch with no waiting requests.
Decision = Literal["replay", "discard", "relaunch"]


class QueueUnavailable(Unavailable):
    """The database can't be written. Nothing was stored."""

    code = "queue_unavailable"


class QueueFull(Unavailable):
    """Too many requests wait. Nothing was stored."""

    code = "queue_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request before it is accepted."""

    kind: str
    payload: Mapping[str, Any]
    #: The target agent instance. Another instance gets it only after an explicit replay decision.
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRequest:
    """One unfinished request on disk."""

    sequence: int
    request_id: str
    kind: str
    payload: Mapping[str, Any]
    state: State
    #: The agent instance it was accepted for.
    epoch: int
    #: The agent instance that may execute it: a newer one after a replay decision.
    carrier: int
    #: Why its payload can't be read; None when it can.
    defect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Confirms that a request is on disk."""

    request_id: str
    accepted_at_utc: str
    #: Requests that are accepted or running, this one included.
    depth: int
    #: The agent instance it was accepted for.
    epoch: int
    #: The request was accepted before under the same key; no new one was.
    is_repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coalesced:
    """Control intents that were dropped because others supersede them."""

    coalesced_at_utc: str
    request_ids: tuple[str, ...]
    #: The remaining requests sorted by id, and their actions in order of execution.
    effective_request_ids: tuple[str, ...]
    effective_actions: tuple[str, ...]
    next_request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Result of an attempt to claim a request."""

    #: False: it is not the next request (any more), and nothing was claimed.
    is_taken: bool
    coalesced: Coalesced | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """How a request ended."""

    state: Literal["completed", "failed"]
    #: Human-readable reason of a failure.
    error: str | None = None
    #: The turn still runs, and its outcome is not known yet.
    turn_goes_on: bool = False
    #: The end to record in its receipt, unless it has a proven end; None: its turn continues in a TUI.
    ends_as: Literal["completed", "failed", "unknown"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A request that just ended, from its row."""

    request_id: str
    state: Literal["completed", "failed"]
    error: str | None
    #: The contract's result of a completed request.
    result: Mapping[str, Any] | None = None
    #: The end in its receipt; None: its turn continues in a TUI.
    ends_as: Literal["completed", "failed", "cancelled", "unknown"] | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many requests are open, as of the last commit."""

    accepted: int = 0
    running: int = 0

    @property
    def depth(self) -> int:
        return self.accepted + self.running


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One generation of the agent behind a session."""

    epoch: int
    instance_id: str
    #: Whether it may execute requests. An undecided instance gets none.
    is_decided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochDecision:
    """A decision about the current instance and the affected requests."""

    decision: Decision
    instance: Instance
    decided_at_utc: str
    #: Replayed or discarded requests, in order.
    request_ids: tuple[str, ...] = ()
    #: Why the discarded ones failed.
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedTurn:
    """A headless turn that began for a request and has no recorded end."""

    request_id: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A corrupt queue file that was kept for inspection."""

    kept_as: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryReport:
    """Result of the recovery when the queue was opened."""

    #: Requests that ran when the last process died; they are marked failed.
    failed: Sequence[Finished] = ()
    set_aside: SetAside | None = None


class Queue(Protocol):
    """The requests of one session.

    Writes are on disk when a call returns; a call that raises `QueueUnavailable` changed nothing.
    """

    @property
    def counts(self) -> Counts:
        """Open requests, from memory."""

    async def problem(self) -> str | None:
        """Why the database can't be written; None when it can. Tests a write only after a refused one."""

    @property
    def recovery(self) -> RecoveryReport:
        """Result of the recovery at opening."""

    @property
    def receipts(self) -> "Receipts":
        """Receipts of all requests and direct prompts."""

    @property
    def notifier(self) -> NotifierStore:
        """The mail notifier's data in the same database."""

    async def put(
        self, request: Request, *, start: bool = False, key: "IdempotencyKey | None" = None
    ) -> Accepted:
        """Append *request* to the queue; with *start* it is running at once.

        A repeated *key* returns the first response and accepts nothing.

        After a crash before this returns, the request may or may not have been accepted.

        Raises:
            QueueFull: Too many requests wait. With *start* the limit does not apply.
            InvalidInput: The key was used for a different request.
        """

    async def find_accepted(self, key: "IdempotencyKey") -> Accepted | None:
        """The first response under *key*; None when the key is new.

        Raises:
            InvalidInput: The key was used for a different request.
        """

    async def next(self) -> QueuedRequest | None:
        """The next request to execute, for any instance. Read-only."""

    async def claim(self, request_id: str, *, turn_id: str | None = None) -> Claim:
        """Claim the next request for execution, if it is still *request_id*.

        Control intents at the head of the queue are coalesced in the same transaction. *turn_id* names the
        headless turn that will execute the request; it is on disk before that turn begins.
        """

    async def release(self, request_id: str) -> bool:
        """Return a claimed request to its old position. False: it was not running."""

    async def finish(self, request_id: str, result: ExecutionResult) -> Finished | None:
        """End a running request. None: it was not running and is unchanged."""

    async def refuse(
        self, request_id: str, error: str, *, ends_as: Literal["failed", "cancelled"] = "failed"
    ) -> Finished | None:
        """Fail a waiting request. None: it was not waiting and is unchanged."""

    async def latest_instance(self) -> Instance | None:
        """The agent instance observed last; None before the first."""

    async def observe(self, instance_id: str, *, is_known: bool) -> tuple[Instance, EpochDecision | None]:
        """Record the session's current agent instance. A new one gets a new epoch.

        The first instance is decided. A later one is decided when it *is_known* to be a relaunch by
        posthouse and no request waits; otherwise it is undecided until `decide`.
        """

    async def decide(self, choice: Choice) -> EpochDecision:
        """Decide about the current instance: it gets the waiting requests, or they are failed.

        Raises:
            Conflict: The instance is decided already, or there is none.
        """

    async def open_turn_id(self) -> str | None:
        """The turn of the oldest open prompt that has one, begun or named by its caller."""

    async def unfinished_turns(self) -> list[UnfinishedTurn]:
        """Turns without a recorded end whose requests are finished."""

    async def record_turn(self, request_id: str, outcome: str) -> Finished | None:
        """Record the outcome of an unfinished turn and add it to the error of its failed request.

        None: the end was recorded before.
        """

    async def prune(self) -> int:
        """Delete a batch of history beyond the limits; the number of rows. 0: nothing is left to delete."""

    async def close(self) -> None:
        """Finish pending calls and close the file. Later calls fail."""
