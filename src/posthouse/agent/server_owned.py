"""A headless agent that a server owns: each turn is asked for there, and followed here by its artifacts."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlsplit

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.agent.headless import HeadlessAdapter
from posthouse.agent.headless_order import choose_chat
from posthouse.clients.connections import Answer, BadAnswer, Connections
from posthouse.clients.wire_helpers import execution_of, words_of
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
#: Nothing was started, and may be later.
_NOT_NOW = (409, 503)


@dataclass(frozen=True, slots=True)
class Owner:
    """The server that takes the agent's turns, and what it calls the agent."""

    api_base_url: str
    agent_ref: str


class ManagedAdapter(HeadlessAdapter):
    """One headless agent of a server's. Asked for twice, a turn is taken once: its id is its name there."""

    def __init__(self, session: Session, owner: Owner, background: Supervisor | None = None) -> None:
        super().__init__(session, background)
        address = urlsplit(owner.api_base_url)
        self._server = Connections(address.hostname or "", address.port or _HTTP_PORT)
        self._path = f"/houmao/agents/{quote(owner.agent_ref, safe='')}/turns"
        self._owner = owner

    async def wait_ready(self) -> None:
        """Return when no turn runs, whoever started it, and the server is there to take the next."""
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
        session = await asyncio.to_thread(sessions.read, self._link.session.manifest_path)
        turn = Turn(session.turns_root / (prompt.turn_id or runner.new_turn_id()))
        answer = await self._asked(turn, _body(session, replace(prompt, turn_id=turn.turn_id)))
        if not turn.folder.order.exists():
            raise self._refusal(answer)
        return session, turn

    async def _asked(self, turn: Turn, body: bytes) -> Answer:
        """The server's answer. One that never came is asked for again: nobody knows what was done.

        Raises:
            AgentBusy: Nobody listens, so nothing was started.
        """
        headers = {"content-type": "application/json", names.TURN_ID_HEADER: turn.turn_id}
        while True:
            try:
                return await self._server.ask(
                    "POST", self._path, headers=headers, body=body, seconds=_START_SECONDS
                )
            except ConnectionRefusedError as error:
                raise AgentBusy(f"the server at {self._owner.api_base_url} is away") from error
            except (OSError, BadAnswer):
                await asyncio.sleep(_RETRY_SECONDS)

    def _refusal(self, answer: Answer) -> AgentBusy | PromptFailed:
        said = _parsed(answer.body)
        words = words_of(said.get("detail")) or f"it answered {answer.status}"
        told = f"the server at {self._owner.api_base_url}: {words}"
        return AgentBusy(told) if answer.status in _NOT_NOW else PromptFailed(told)

    async def _is_server_there(self) -> bool:
        try:
            answer = await self._server.ask("GET", "/health", headers={}, body=None, seconds=_HEALTH_SECONDS)
        except (OSError, BadAnswer):
            return False
        return answer.status == 200


def _body(session: Session, prompt: Prompt) -> bytes:
    order: dict[str, Any] = {
        "prompt": prompt.text,
        **execution_of(prompt.model, prompt.reasoning_level),
    }
    if session.manifest.headless is not None:
        order["chat_session"] = _selector(choose_chat(prompt, session.manifest.headless))
    return json.dumps(order).encode()


def _selector(chat: Chat) -> Mapping[str, str | None]:
    """*chat* in the words of the server, which knows no `auto` and no `current`."""
    return {"mode": "tool_last_or_new" if chat.mode == "latest" else chat.mode, "id": chat.id}


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        said = strict.parse(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
