"""Submits a recorded turn to an agent's gateway, and reads its receipt there."""

import json
from dataclasses import dataclass
from typing import Any

from posthouse.agent.adapter import Prompt
from posthouse.clients.wire_helpers import execution_override, format_detail
from posthouse.contracts import strict
from posthouse.errors import Conflict, InvalidInput, PosthouseError, Unavailable
from posthouse.server.gateways import LiveGateway

_CONFLICT, _INVALID, _NOT_FOUND = 409, 422, 404
#: Long poll of the receipt of a turn that has not started.
_WAIT_SECONDS = 25
_TIMEOUT_SECONDS = 35.0
_OPEN = ("accepted", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayReceipt:
    """The state of a request at the gateway."""

    is_over: bool
    reason: str


async def submit(gateway: LiveGateway, prompt: Prompt) -> str:
    """Submit the turn. Return the gateway's request id; the request is on disk there when this returns.

    Raises:
        Conflict, InvalidInput, Unavailable: The gateway rejected the turn; nothing was accepted.
        GatewayLost, BadGatewayResponse: No valid response; the turn may have been accepted.
    """
    payload: dict[str, Any] = {
        "prompt": prompt.text,
        "turn_id": prompt.turn_id,
        **execution_override(prompt.model, prompt.reasoning_level),
    }
    if prompt.chat_mode is not None:
        payload["chat_session"] = {"mode": prompt.chat_mode, "id": prompt.chat_id}
    body = json.dumps({"schema_version": 1, "kind": "submit_prompt", "payload": payload}).encode()
    answer = await gateway.request("POST", "/v1/requests", body=body)
    fields = _parsed(answer.body)
    if 200 <= answer.status < 300 and "request_id" in fields:
        return str(fields["request_id"])
    raise _refusal(answer.status, f"{gateway}: {format_detail(fields.get('detail')) or answer.status}")


async def wait_until_submitted(gateway: LiveGateway, request_id: str) -> GatewayReceipt:
    """Long-poll a request until it starts or ends, at most `_WAIT_SECONDS`.

    Raises:
        GatewayLost, BadGatewayResponse: No valid response.
    """
    query = {"wait": str(_WAIT_SECONDS), "until": "submitted"}
    answer = await gateway.request("GET", f"/v1/requests/{request_id}", query=query, seconds=_TIMEOUT_SECONDS)
    fields = _parsed(answer.body)
    if answer.status == _NOT_FOUND:
        return GatewayReceipt(is_over=True, reason="its gateway no longer has the request")
    state = fields.get("state", "unknown")
    is_over = answer.status == 200 and state not in _OPEN
    return GatewayReceipt(is_over=is_over, reason=str(fields.get("error") or f"its gateway reports: {state}"))


async def cancel(gateway: LiveGateway, request_id: str) -> None:
    """Cancel a request at the gateway if the agent has not received it.

    Raises:
        GatewayLost, BadGatewayResponse: No valid response.
    """
    await gateway.request("DELETE", f"/v1/requests/{request_id}")


def _refusal(status: int, message: str) -> PosthouseError:
    if status == _CONFLICT:
        return Conflict(message, code="gateway_busy")
    if status == _INVALID:
        return InvalidInput(message, code="gateway_refuses")
    return Unavailable(message, code="gateway_unable")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        fields = strict.parse(body)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
