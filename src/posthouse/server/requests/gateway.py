"""Prompts and interrupts handed to an agent's gateway, which puts them on disk."""

import json
from typing import Any

from posthouse.contracts import strict
from posthouse.server.gateways import LiveGateway
from posthouse.server.requests.errors import Refused
from posthouse.server.turns.agent_turns import NotOperable

_INVALID = 422
_MAX_TOLD = 500


async def prompt(gateway: LiveGateway, text: str) -> str:
    """The gateway's own id of the request, which is on disk when this returns.

    Raises:
        Refused: It does not take such a prompt.
        NotOperable: It takes none now.
        GatewayLost, GatewayGarbled: It did not answer; the prompt may have been accepted.
    """
    return await _submit(gateway, "submit_prompt", {"prompt": text})


async def interrupt(gateway: LiveGateway) -> str:
    """The gateway's own id of the request, which is on disk when this returns.

    Raises:
        NotOperable: It takes none now.
        GatewayLost, GatewayGarbled: It did not answer; the interrupt may have been accepted.
    """
    return await _submit(gateway, "interrupt", {})


async def _submit(gateway: LiveGateway, kind: str, payload: dict[str, Any]) -> str:
    body = json.dumps({"schema_version": 1, "kind": kind, "payload": payload}).encode()
    answer = await gateway.ask("POST", "/v1/requests", body=body)
    said = _parsed(answer.body)
    if 200 <= answer.status < 300:  # the contract's diagram has 202, other gateways answer 200
        return str(said.get("request_id", "of an unknown id"))
    detail = json.dumps(said.get("detail", ""))[:_MAX_TOLD]
    if answer.status == _INVALID:
        raise Refused(f"{gateway} refuses it: {detail}")
    raise NotOperable(f"{gateway} does not take it now ({answer.status}): {detail}")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        said = strict.parse(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
