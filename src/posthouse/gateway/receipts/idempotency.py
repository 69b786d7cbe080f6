"""Idempotency keys at the door: a repeated request gets the first one's answer, and does nothing."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel

from posthouse.errors import Conflict, PosthouseError
from posthouse.queue import FirstAnswer, Key, KeyReused, QueueUnavailable, Receipts


class AnswerLost(Conflict):
    """The first request was accepted, and the gateway stopped before its answer was kept."""

    code = "answer_lost"

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"the first request under this key was accepted as {request_id}, and what it was answered is "
            f"lost; GET /v1/requests/{request_id} tells what became of it"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a direct prompt was answered, and the receipt it has."""

    request_id: str
    status: int
    #: JSON, as it was sent.
    body: str


def key_of(name: str | None, path: str, order: BaseModel) -> Key | None:
    """The key that *name* makes for *order*: what was asked, not how it was written, tells two apart."""
    if name is None:
        return None
    asked = f"{path}\n{order.model_dump_json()}"
    return Key(name=name, fingerprint=hashlib.sha256(asked.encode()).hexdigest())


class Repeats:
    """Asks once for each key, however many ask at the same time."""

    def __init__(self, receipts: Receipts, log: logging.Logger) -> None:
        self._receipts = receipts
        self._log = log
        self._asking: dict[str, tuple[Key, asyncio.Future[Reply]]] = {}

    async def once(self, key: Key | None, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """The reply of *ask*, or of whoever asked under *key* before. What was refused may be asked again.

        Raises:
            KeyReused: Something else was asked under it.
            AnswerLost: It was accepted before; its answer is not known.
            PosthouseError: *ask* was refused, now.
        """
        if key is None:
            return await ask()
        if (known := self._asking.get(key.name)) is not None:
            return await _theirs(known, key)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asking[key.name] = key, reply
        try:
            reply.set_result(await self._first(key, ask))
        except PosthouseError as error:
            reply.set_exception(error)
            reply.exception()  # it is raised here too, so nobody else has to hear of it
            raise
        finally:
            reply.cancel()  # for those who wait, when the asking itself was broken off
            del self._asking[key.name]
        return reply.result()

    async def _first(self, key: Key, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        if (first := await self._receipts.first_answer(key)) is not None:
            return _again(first)
        reply = await ask()
        try:
            await self._receipts.keep_answer(key, {"status": reply.status, "body": reply.body})
        except QueueUnavailable as error:
            # A repeat is told where the receipt is, and nothing is done twice.
            self._log.warning("an answer could not be kept", extra={"error": str(error)})
        return reply


async def _theirs(known: tuple[Key, "asyncio.Future[Reply]"], key: Key) -> Reply:
    if known[0].fingerprint != key.fingerprint:
        raise KeyReused
    return await asyncio.shield(known[1])


def _again(first: FirstAnswer) -> Reply:
    if first.answer is None:
        raise AnswerLost(first.request_id)
    return Reply(request_id=first.request_id, status=first.answer["status"], body=first.answer["body"])
