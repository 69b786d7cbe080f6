"""Submits prompts and interrupts to an agent's gateway, which stores them on disk."""

import json
from typing import Any

from posthouse.contracts import strict
from posthouse.errors import InvalidInput, Unavailable
from posthouse.server.gateways import LiveGateway
from posthouse.server.turns.agent_turns import NOT_OPERABLE

_INVALID = 422
_MAX_DETAIL = 500


async def prompt(gateway: LiveGateway, text: str) -> str:
    """Submit a prompt. Return the gateway's request id; the request is on disk when this returns.

    Raises:
        InvalidInput: The gateway rejects such a prompt.
        Unavailable: The gateway accepts no prompt now.
        GatewayLost, BadGatewayResponse: No valid response; the prompt may have been accepted.
    """
    return await _submit(gateway, "submit_prompt", {"prompt": text})


async def interrupt(gateway: LiveGateway) -> str:
    """Submit an interrupt. Return the gateway's request id; the request is on disk when this returns.

    Raises:
        Unavailable: The gateway accepts no interrupt now.
        GatewayLost, BadGatewayResponse: No valid response; the interrupt may have been accepted.
    """
    return await _submit(gateway, "interrupt", {})


async def _submit(gateway: LiveGateway, kind: str, payload: dict[str, Any]) -> str:
    body = json.dumps({"schema_version": 1, "kind": kind, "payload": payload}).encode()
    answer = await gateway.request("POST", "/v1/requests", body=body)
    fields = _parsed(answer.body)
    if 200 <= answer.status < 300:  # the contract's diagram has 202, other gateways answer 200
        return str(fields.get("request_id", "(unknown id)"))
    detail = json.dumps(fields.get("detail", ""))[:_MAX_DETAIL]
    if answer.status == _INVALID:
        raise InvalidInput(f"{gateway} rejected the request: {detail}", code="request_refused")
    raise Unavailable(
        f"{gateway} does not accept the request now ({answer.status}): {detail}", code=NOT_OPERABLE
    )


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        fields = strict.parse(body)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
