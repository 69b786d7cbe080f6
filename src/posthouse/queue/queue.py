"""The contract of the queue, and the values that go through it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from posthouse.errors import Unavailable

State = Literal["accepted", "running", "completed", "failed", "coalesced"]


class QueueUnavailable(Unavailable):
    """The disk said no. Nothing of the request was kept."""

    code = "queue_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked, before it is accepted."""

    kind: str
    payload: Mapping[str, Any]
    #: The agent instance it is meant for. Another one never gets it.
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request that is on disk and not finished."""

    sequence: int
    request_id: str
    kind: str
    payload: Mapping[str, Any]
    state: State
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The proof that a request is on disk."""

    request_id: str
    accepted_at_utc: str
    #: Requests that are accepted or running, this one included.
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a request ended."""

    state: Literal["completed", "failed"]
    #: Why it failed, for a person.
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A request that just ended, as its row tells it."""

    request_id: str
    state: Literal["completed", "failed"]
    error: str | None
    #: What the contract keeps of a completed request.
    result: Mapping[str, Any] | None


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


class Queue(Protocol):
    """The requests of one session.

    A call that returns is on disk; a call that raises `QueueUnavailable` changed nothing.
    """

    @property
    def counts(self) -> Counts:
        """What is open. Costs nothing."""

    async def put(self, request: Request, *, start: bool = False) -> Accepted:
        """Accept *request* behind all earlier ones; with *start* it is running at once.

        A process that dies before this returns may or may not have accepted it.
        """

    async def next(self, epoch: int) -> Row | None:
        """The oldest accepted request, if it is meant for *epoch*. Nothing changes."""

    async def claim(self, request_id: str) -> bool:
        """Take an accepted request for carrying it out. False: it is no longer there to take."""

    async def release(self, request_id: str) -> bool:
        """Give a claimed request back, in its old place. False: it was not running."""

    async def finish(self, request_id: str, result: Result) -> Finished | None:
        """End a running request. None: it was not running, and stays what it was."""

    async def latest_instance(self) -> Instance | None:
        """The agent instance that was observed last; None before the first."""

    async def observe(self, instance_id: str, *, is_known: bool) -> Instance:
        """Record which agent instance stands behind the session now; a new one gets a new epoch.

        The first ever is decided. A later one is decided when it *is_known* to be our own relaunch
        and no request waits for an older one; otherwise it stays undecided until somebody decides.
        """

    async def close(self) -> None:
        """Finish what was asked for and let go of the file. Later calls fail."""
