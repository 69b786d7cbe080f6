"""A headless agent owned by a server: turns are requested over HTTP and followed by their artifacts."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlsplit

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.agent.headless import HeadlessAdapter
from posthouse.agent.headless_order import choose_chat
from posthouse.clients.connections import BadResponse, ConnectionPool, HttpResponse
from posthouse.clients.wire_helpers import execution_override, format_detail
from posthouse.contracts import names, strict
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.tools.tool import Chat
from posthouse.turns import runner
from posthouse.turns.turn import Turn

_HTTP_PORT = 80
#: A server may wait for the session's lock and for the program's pid before it answers.
_START_SECONDS = 60.0
_HEALTH_SECONDS = 5.0
_RETRY_SECONDS = 0.5
_LAST_RETRY_SECONDS = 5.0
#: Statuses that mean: nothing was started, retry later.
_NOT_NOW = (409, 503)


@dataclass(frozen=True, slots=True)
class TurnServer:
    """The server that runs the agent's turns, and its reference of the agent."""

    api_base_url: str
    agent_ref: str


class ServerOwnedAdapter(HeadlessAdapter):
    """One headless agent owned by a server. The turn id is the idempotency key of a turn."""

    def __init__(self, session: Session, owner: TurnServer, background: Supervisor | None = None) -> None:
        super().__init__(session, background)
        address = urlsplit(owner.api_base_url)
        self._server = ConnectionPool(address.hostname or "", address.port or _HTTP_PORT)
        self._path = f"/houmao/agents/{quote(owner.agent_ref, safe='')}/turns"
        self._owner = owner

    async def wait_ready(self) -> None:
        """Return when no turn runs and the server answers."""
        await super().wait_ready()
        delay = _RETRY_SECONDS
        while not await self._is_server_there():
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LAST_RETRY_SECONDS)
            self._require()

    async def close(self) -> None:
        self._server.close()
        await super().close()

    async def _start(self, prompt: Prompt) -> tuple[Session, Turn]:
        session = await asyncio.to_thread(sessions.read, self._connection.session.manifest_path)
        turn = Turn(session.turns_root / (prompt.turn_id or runner.new_turn_id()))
        answer = await self._request_turn(turn, _body(session, replace(prompt, turn_id=turn.turn_id)))
        if not turn.folder.order.exists():
            raise self._refusal(answer)
        return session, turn

    async def _request_turn(self, turn: Turn, body: bytes) -> HttpResponse:
        """Request *turn* and return the server's answer. Retries after a lost answer.

        Raises:
            AgentBusy: The connection was refused, so nothing was started.
        """
        headers = {"content-type": "application/json", names.TURN_ID_HEADER: turn.turn_id}
        while True:
            try:
                return await self._server.request(
                    "POST", self._path, headers=headers, body=body, seconds=_START_SECONDS
                )
            except ConnectionRefusedError as error:
                raise AgentBusy(f"the server at {self._owner.api_base_url} is away") from error
            except (OSError, BadResponse):
                await asyncio.sleep(_RETRY_SECONDS)

    def _refusal(self, answer: HttpResponse) -> AgentBusy | PromptFailed:
        fields = _parsed(answer.body)
        detail = format_detail(fields.get("detail")) or f"it answered {answer.status}"
        message = f"the server at {self._owner.api_base_url}: {detail}"
        return AgentBusy(message) if answer.status in _NOT_NOW else PromptFailed(message)

    async def _is_server_there(self) -> bool:
        try:
            answer = await self._server.request(
                "GET", "/health", headers={}, body=None, seconds=_HEALTH_SECONDS
            )
        except (OSError, BadResponse):
            return False
        return answer.status == 200


def _body(session: Session, prompt: Prompt) -> bytes:
    order: dict[str, Any] = {
        "prompt": prompt.text,
        **execution_override(prompt.model, prompt.reasoning_level),
    }
    if session.manifest.headless is not None:
        order["chat_session"] = _selector(choose_chat(prompt, session.manifest.headless))
    return json.dumps(order).encode()


def _selector(chat: Chat) -> Mapping[str, str | None]:
    """*chat* as the server's selector, which has no `auto` and no `current`."""
    return {"mode": "tool_last_or_new" if chat.mode == "latest" else chat.mode, "id": chat.id}


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        fields = strict.parse(body)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
