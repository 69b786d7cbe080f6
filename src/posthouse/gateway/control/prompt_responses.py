"""How a direct prompt is answered: each request in the shape of its own schema version. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.web.error_responses import Structured

DISPATCHED = "Prompt dispatched."
UNCONFIRMED = "The prompt is being given to the agent; that it took it is not confirmed yet."

Answer = wire.Sent | wire.SentUnderPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """A prompt that was admitted, and what its caller is told."""

    request_id: str
    answer: Answer


_STATUSES: Mapping[wire.PromptRefusalCode, int] = {
    "unsupported_backend": 501,
    "blocked_reconciliation": 409,
    "unavailable": 503,
    "invalid_chat_session": 422,
    "invalid_execution": 422,
    "not_ready": 409,
    "missing_current_chat_session": 409,
    "dispatch_failed": 422,
}


def sent(order: wire.ControlPrompt, detail: str = DISPATCHED) -> Answer:
    """The answer to a prompt that was given to the agent."""
    if order.schema_version == 1:
        return wire.Sent(forced=order.force, detail=detail)
    return wire.SentUnderPolicy(admission_policy=order.admission_policy, detail=detail)


def refused(
    order: wire.ControlPrompt, code: wire.PromptRefusalCode, words: str, *, request_id: str | None = None
) -> Structured:
    """The error that answers a prompt which was not given to the agent; *request_id* if it was accepted."""
    detail: wire.NotSent | wire.NotSentUnderPolicy
    if order.schema_version == 1:
        detail = wire.NotSent(forced=order.force, error_code=code, detail=words)
    else:
        detail = wire.NotSentUnderPolicy(
            admission_policy=order.admission_policy, error_code=code, detail=words
        )
    headers = {} if request_id is None else {REQUEST_ID: request_id}
    return Structured(_STATUSES[code], detail, words, headers=headers)


def require_idle(order: wire.ControlPrompt, status: GatewayStatus) -> None:
    """Refuse while the gateway does something, or has something to do.

    Raises:
        Structured: It does.
    """
    if status.active_execution != "idle":
        raise refused(order, "not_ready", "the gateway is carrying out something else; try again later")
    if status.queue_depth > 0:
        raise refused(order, "not_ready", f"{status.queue_depth} requests wait in the queue before it")
