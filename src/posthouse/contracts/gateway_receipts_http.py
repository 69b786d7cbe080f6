"""What crosses the gateway's door for receipts: what became of every prompt."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from posthouse.contracts.gateway_http import Count, Query, SchemaVersion, Wire
from posthouse.support import clock

ReceiptState = Literal[
    "accepted", "running", "completed", "failed", "interrupted", "cancelled", "coalesced", "unknown"
]
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
#: How a request came: by the queue (its kind), directly, or by a reminder.
ReceiptKind = Literal["submit_prompt", "interrupt", "mail_notifier_prompt", "control_prompt", "reminder"]
#: The response header that names the receipt of a direct prompt.
REQUEST_ID = "X-Posthouse-Request-Id"
#: SQLite has no larger one.
_LAST_ROW = (1 << 63) - 1
#: Longer waits are asked for again: a connection that says nothing for minutes is not kept everywhere.
MAX_WAIT_SECONDS = 300.0
MAX_PAGE = 200


def _iso_micros(text: str) -> str:
    return clock.iso_micros(clock.parse(text))


class Stage(Wire):
    """Something that a prompt has passed."""

    stage: StageName
    at_utc: str
    #: How that is known: its `source`, and what was seen there.
    evidence: dict[str, Any]


class ReceiptResult(Wire):
    """What came of a prompt, as far as the agent told."""

    answer: str | None
    #: The answer is longer than what is kept here; the turn's artifacts or the transcript have all of it.
    answer_is_cut: bool
    #: Tokens, in the words of the agent's CLI.
    usage: dict[str, Any] | None
    cost_usd: float | None


class Receipt(Wire):
    """What became of one request."""

    schema_version: SchemaVersion = 1
    request_id: str
    kind: str
    #: `unknown`: it may have reached the agent, and nothing proves how it ended.
    state: ReceiptState
    managed_agent_instance_epoch: Count
    accepted_at_utc: str
    #: Null while it is open, and while nothing is known.
    finished_at_utc: str | None
    turn_id: str | None
    reminder_id: str | None
    #: The beginning of the prompt; null for an interrupt.
    prompt_preview: str | None
    #: In the order in which they are passed.
    stages: list[Stage]
    result: ReceiptResult | None
    #: Why it failed, or why nothing is known.
    error: str | None


class ReceiptPage(Wire):
    """Receipts, newest first."""

    schema_version: SchemaVersion = 1
    requests: list[Receipt]
    #: Ask with it for the next page; null: there is none. A page may be short, and still have a next one.
    next_cursor: str | None


class ReceiptsQuery(Query):
    state: ReceiptState | None = None
    kind: ReceiptKind | None = None
    #: Accepted at or after this time, in ISO 8601.
    since: Annotated[str, AfterValidator(_iso_micros)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: Annotated[int, Field(ge=1, le=_LAST_ROW)] | None = None


class WaitQuery(Query):
    #: Seconds to wait for the end, or for the stage.
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS)] = 0.0
    until: Literal["started", "typed", "submitted", "acknowledged"] | None = None
