"""Responses to direct prompts, each in the schema version of its request. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.web.error_responses import StructuredError

DISPATCHED = "Prompt dispatched."
UNCONFIRMED = "The prompt is being given to the agent; that it took it is not confirmed yet."

PromptResponse = wire.Sent | wire.SentUnderPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """An admitted prompt and the response to its caller."""

    request_id: str
    response: PromptResponse


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


def accepted(order: wire.ControlPrompt, detail: str = DISPATCHED) -> PromptResponse:
    """The response for a prompt that was given to the agent."""
    if order.schema_version == 1:
        return wire.Sent(forced=order.force, detail=detail)
    return wire.SentUnderPolicy(admission_policy=order.admission_policy, detail=detail)


def refusal(
    order: wire.ControlPrompt, code: wire.PromptRefusalCode, message: str, *, request_id: str | None = None
) -> StructuredError:
    """The error response for a prompt that was not delivered; *request_id* if it was accepted."""
    detail: wire.NotSent | wire.NotSentUnderPolicy
    if order.schema_version == 1:
        detail = wire.NotSent(forced=order.force, error_code=code, detail=message)
    else:
        detail = wire.NotSentUnderPolicy(
            admission_policy=order.admission_policy, error_code=code, detail=message
        )
    headers = {} if request_id is None else {REQUEST_ID: request_id}
    return StructuredError(_STATUSES[code], detail, message, headers=headers)


def require_idle(order: wire.ControlPrompt, status: GatewayStatus) -> None:
    """Refuse while the gateway executes or has queued requests.

    Raises:
        StructuredError: It is busy.
    """
    if status.active_execution != "idle":
        raise refusal(order, "not_ready", "the gateway is executing another request; try again later")
    if status.queue_depth > 0:
        raise refusal(order, "not_ready", f"{status.queue_depth} requests are queued ahead of it")
