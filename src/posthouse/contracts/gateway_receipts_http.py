"""Bodies of the gateway's receipt routes."""

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
#: Origin of a request: the queue (its kind), direct control, or a reminder.
ReceiptKind = Literal["submit_prompt", "interrupt", "mail_notifier_prompt", "control_prompt", "reminder"]
#: The response header that names the receipt of a direct prompt.
REQUEST_ID = "X-Posthouse-Request-Id"
#: The largest SQLite integer.
_LAST_ROW = (1 << 63) - 1
#: Clients repeat longer waits: some proxies close connections that are idle for minutes.
MAX_WAIT_SECONDS = 300.0
MAX_PAGE = 200


def _iso_micros(text: str) -> str:
    return clock.iso_micros(clock.parse(text))


class Stage(Wire):
    """One stage that a prompt has reached."""

    stage: StageName
    at_utc: str
    #: The evidence: its `source`, and what was observed there.
    evidence: dict[str, Any]


class ReceiptResult(Wire):
    """Result of a prompt, as far as the agent reported it."""

    answer: str | None
    #: The answer is truncated; the turn's artifacts or the transcript have all of it.
    answer_is_cut: bool
    #: Token counts, with the key names of the agent's CLI.
    usage: dict[str, Any] | None
    cost_usd: float | None


class Receipt(Wire):
    """The receipt of one request."""

    schema_version: SchemaVersion = 1
    request_id: str
    kind: str
    #: `unknown`: it may have reached the agent, but its end is not proven.
    state: ReceiptState
    managed_agent_instance_epoch: Count
    accepted_at_utc: str
    #: Null while it is open or unknown.
    finished_at_utc: str | None
    turn_id: str | None
    reminder_id: str | None
    #: The start of the prompt; null for an interrupt.
    prompt_preview: str | None
    #: In stage order.
    stages: list[Stage]
    result: ReceiptResult | None
    #: Why it failed, or why its end is unknown.
    error: str | None


class ReceiptPage(Wire):
    """Receipts, newest first."""

    schema_version: SchemaVersion = 1
    requests: list[Receipt]
    #: Cursor of the next page; null: last page. A page may be short and still have a next one.
    next_cursor: str | None


class ReceiptsQuery(Query):
    state: ReceiptState | None = None
    kind: ReceiptKind | None = None
    #: Accepted at or after this time, in ISO 8601.
    since: Annotated[str, AfterValidator(_iso_micros)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: Annotated[int, Field(ge=1, le=_LAST_ROW)] | None = None


class WaitQuery(Query):
    #: Seconds to wait for the end or the stage.
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS)] = 0.0
    until: Literal["started", "typed", "submitted", "acknowledged"] | None = None
