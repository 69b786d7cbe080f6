"""The contract of the queue, and the values that go through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from posthouse.errors import Conflict, Unavailable
from posthouse.queue.notifier import NotifierBook

if TYPE_CHECKING:
    from posthouse.queue.receipt import Key, Receipts

State = Literal["accepted", "running", "completed", "failed", "coalesced"]
#: What somebody may decide about work that waits for an agent which was replaced.
Choice = Literal["replay", "discard"]
#: How a replaced agent's epoch was decided: by somebody, or by our own relaunch with nothing waiting.
Decision = Literal["replay", "discard", "relaunch"]


class QueueUnavailable(Unavailable):
    """The disk said no. Nothing of the request was kept."""

    code = "queue_unavailable"


class QueueFull(Unavailable):
    """Too much waits already. Nothing of the request was kept."""

    code = "queue_full"


class NothingToDecide(Conflict):
    """The agent's current instance is decided already, or there is none."""

    code = "nothing_to_decide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked, before it is accepted."""

    kind: str
    payload: Mapping[str, Any]
    #: The agent instance it is meant for. Another one gets it only if somebody decides so.
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request that is on disk and not finished."""

    sequence: int
    request_id: str
    kind: str
    payload: Mapping[str, Any]
    state: State
    #: The agent instance it was accepted for.
    epoch: int
    #: The agent instance that may carry it out: a newer one after a replay was decided.
    carrier: int
    #: Why its payload can't be read; None when it can.
    defect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The proof that a request is on disk."""

    request_id: str
    accepted_at_utc: str
    #: Requests that are accepted or running, this one included.
    depth: int
    #: The agent instance it was accepted for.
    epoch: int
    #: It was accepted before, under the same key; nothing new was.
    is_repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coalesced:
    """Control intents that were dropped because others do what they would have done."""

    coalesced_at_utc: str
    request_ids: tuple[str, ...]
    #: What is left of the run, by id, and what it does in the order of execution.
    effective_request_ids: tuple[str, ...]
    effective_actions: tuple[str, ...]
    next_request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What became of an attempt to take a request."""

    #: False: it is not the next one (any more), and nobody took anything.
    is_taken: bool
    coalesced: Coalesced | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a request ended."""

    state: Literal["completed", "failed"]
    #: Why it failed, for a person.
    error: str | None = None
    #: Its turn was left running, and its outcome is not known yet.
    turn_goes_on: bool = False
    #: What its receipt says from now on, unless more was told already; None: its turn goes on in a TUI.
    ends_as: Literal["completed", "failed", "unknown"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A request that just ended, as its row tells it."""

    request_id: str
    state: Literal["completed", "failed"]
    error: str | None
    #: What the contract keeps of a completed request.
    result: Mapping[str, Any] | None = None
    #: What its receipt says; None: its turn goes on in a TUI.
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
    #: Whether work may be given to it. One that nobody decided about gets none.
    is_decided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was decided about the current instance, and which waiting requests that concerned."""

    decision: Decision
    instance: Instance
    decided_at_utc: str
    #: Replayed or discarded, in their order.
    request_ids: tuple[str, ...] = ()
    #: Why the discarded ones failed.
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftTurn:
    """A headless turn that was begun for a request, and whose end nobody has recorded."""

    request_id: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A queue that could not be read, kept for whoever wants to look at it."""

    kept_as: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found when the queue was opened."""

    #: Requests that ran when the last process died; they are failed now.
    failed: Sequence[Finished] = ()
    set_aside: SetAside | None = None


class Queue(Protocol):
    """The requests of one session.

    A call that returns is on disk; a call that raises `QueueUnavailable` changed nothing.
    """

    @property
    def counts(self) -> Counts:
        """What is open. Costs nothing."""

    async def problem(self) -> str | None:
        """Why nothing can be written now; None when it can. Writes only when the last write was refused."""

    @property
    def found(self) -> Found:
        """What opening it found."""

    @property
    def receipts(self) -> "Receipts":
        """What became of everything that was asked."""

    @property
    def notifier(self) -> NotifierBook:
        """What the same file keeps of the mail notifier."""

    async def put(self, request: Request, *, start: bool = False, key: "Key | None" = None) -> Accepted:
        """Accept *request* behind all earlier ones; with *start* it is running at once.

        Under a *key* that was used before, the first answer is given again and nothing is accepted.

        A process that dies before this returns may or may not have accepted it.

        Raises:
            QueueFull: Too much waits. What starts at once does not wait, and is always taken.
            KeyReused: Something else was asked under the key.
        """

    async def repeated(self, key: "Key") -> Accepted | None:
        """The first answer under *key*; None when it is new.

        Raises:
            KeyReused: Something else was asked under it.
        """

    async def next(self) -> Row | None:
        """The request that is carried out next, whoever may carry it out. Nothing changes."""

    async def claim(self, request_id: str, *, turn_id: str | None = None) -> Claim:
        """Take the next request for carrying it out, if it is still *request_id*.

        Control intents at the head of the queue are coalesced in the same step. *turn_id* names the
        headless turn that will carry it out; it is on disk before that turn begins.
        """

    async def release(self, request_id: str) -> bool:
        """Give a claimed request back, in its old place. False: it was not running."""

    async def finish(self, request_id: str, result: Result) -> Finished | None:
        """End a running request. None: it was not running, and stays what it was."""

    async def refuse(
        self, request_id: str, error: str, *, ends_as: Literal["failed", "cancelled"] = "failed"
    ) -> Finished | None:
        """Fail a request that waits. None: it does not wait, and stays what it was."""

    async def latest_instance(self) -> Instance | None:
        """The agent instance that was observed last; None before the first."""

    async def observe(self, instance_id: str, *, is_known: bool) -> tuple[Instance, Decided | None]:
        """Record which agent instance stands behind the session now; a new one gets a new epoch.

        The first ever is decided. A later one is decided when it *is_known* to be our own relaunch
        and no request waits for an older one; otherwise it stays undecided until `decide`.
        """

    async def decide(self, choice: Choice) -> Decided:
        """Decide about the current instance: it is given what waits, or what waits is failed.

        Raises:
            NothingToDecide: It is decided already.
        """

    async def open_turn_id(self) -> str | None:
        """The turn of the oldest open prompt that has one: begun already, or named by its caller."""

    async def left_turns(self) -> list[LeftTurn]:
        """Turns of requests that are over, whose end was never recorded."""

    async def record_turn(self, request_id: str, outcome: str) -> Finished | None:
        """Record how a left turn ended, also in its failed request's reason, which is returned.

        None: its end was recorded before.
        """

    async def prune(self) -> int:
        """Drop some of the history that is beyond its limits; how much was dropped. 0: nothing is left to."""

    async def close(self) -> None:
        """Finish what was asked for and let go of the file. Later calls fail."""
