"""Asks an agent's gateway to accept a recorded turn, and what became of it there."""

import json
from dataclasses import dataclass
from typing import Any

from posthouse.agent.adapter import Prompt
from posthouse.clients.wire_helpers import execution_of, words_of
from posthouse.contracts import strict
from posthouse.errors import Conflict, InvalidInput, PosthouseError, Unavailable
from posthouse.server.gateways import LiveGateway

_CONFLICT, _INVALID, _NOT_FOUND = 409, 422, 404
#: The receipt of a turn that has not begun is asked for again after this.
_WAIT_SECONDS = 25
_PATIENCE_SECONDS = 35.0
_OPEN = ("accepted", "running")


class GatewayBusy(Conflict):
    """The gateway takes no further turn now; nothing was accepted."""

    code = "gateway_busy"


class GatewayRefuses(InvalidInput):
    """The gateway does not take such a turn; nothing was accepted."""

    code = "gateway_refuses"


class GatewayUnable(Unavailable):
    """The gateway is there, and can't take a turn now; nothing was accepted."""

    code = "gateway_unable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the gateway says of a request."""

    is_over: bool
    reason: str


async def ask(gateway: LiveGateway, prompt: Prompt) -> str:
    """The gateway's own id of the request, which is on disk there when this returns.

    Raises:
        GatewayBusy, GatewayRefuses, GatewayUnable: It said no.
        GatewayLost, GatewayGarbled: It did not answer; the turn may have been accepted.
    """
    payload: dict[str, Any] = {
        "prompt": prompt.text,
        "turn_id": prompt.turn_id,
        **execution_of(prompt.model, prompt.reasoning_level),
    }
    if prompt.chat_mode is not None:
        payload["chat_session"] = {"mode": prompt.chat_mode, "id": prompt.chat_id}
    body = json.dumps({"schema_version": 1, "kind": "submit_prompt", "payload": payload}).encode()
    answer = await gateway.ask("POST", "/v1/requests", body=body)
    said = _parsed(answer.body)
    if 200 <= answer.status < 300 and "request_id" in said:
        return str(said["request_id"])
    raise _refusal(answer.status, f"{gateway}: {words_of(said.get('detail')) or answer.status}")


async def asked(gateway: LiveGateway, request_id: str) -> Told:
    """What became of a request, once it has begun or is over; at most some seconds later.

    Raises:
        GatewayLost, GatewayGarbled: It did not answer.
    """
    query = {"wait": str(_WAIT_SECONDS), "until": "submitted"}
    answer = await gateway.ask("GET", f"/v1/requests/{request_id}", query=query, seconds=_PATIENCE_SECONDS)
    said = _parsed(answer.body)
    if answer.status == _NOT_FOUND:
        return Told(is_over=True, reason="its gateway knows nothing of it any more")
    state = said.get("state", "unknown")
    is_over = answer.status == 200 and state not in _OPEN
    return Told(is_over=is_over, reason=str(said.get("error") or f"its gateway says: {state}"))


async def take_back(gateway: LiveGateway, request_id: str) -> None:
    """Have the gateway forget a request that it was not given yet, if it still can.

    Raises:
        GatewayLost, GatewayGarbled: It did not answer.
    """
    await gateway.ask("DELETE", f"/v1/requests/{request_id}")


def _refusal(status: int, words: str) -> PosthouseError:
    if status == _CONFLICT:
        return GatewayBusy(words)
    return GatewayRefuses(words) if status == _INVALID else GatewayUnable(words)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        said = strict.parse(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
