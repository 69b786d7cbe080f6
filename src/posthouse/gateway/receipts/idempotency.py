"""Idempotency keys of direct prompts: a repeated request returns the first reply and does nothing else."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel

from posthouse.errors import Conflict, PosthouseError
from posthouse.queue import IdempotencyKey, QueueUnavailable, Receipts, StoredResponse, key_reused


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectReply:
    """The HTTP reply to a direct prompt, and the id of its receipt."""

    request_id: str
    status: int
    #: JSON, exactly as sent.
    body: str


def key_of(name: str | None, path: str, request: BaseModel) -> IdempotencyKey | None:
    """The key *name* with a fingerprint of the decoded *request*, so that its formatting does not matter."""
    if name is None:
        return None
    asked = f"{path}\n{request.model_dump_json()}"
    return IdempotencyKey(name=name, fingerprint=hashlib.sha256(asked.encode()).hexdigest())


class IdempotentReplies:
    """Runs one action per key, also for concurrent requests with the same key."""

    def __init__(self, receipts: Receipts, log: logging.Logger) -> None:
        self._receipts = receipts
        self._log = log
        self._in_flight: dict[str, tuple[IdempotencyKey, asyncio.Future[DirectReply]]] = {}

    async def once(
        self, key: IdempotencyKey | None, action: Callable[[], Awaitable[DirectReply]]
    ) -> DirectReply:
        """The reply of *action*, or of the first request with *key*. A refused request may be repeated.

        Raises:
            InvalidInput: The key was used for a different request.
            Conflict: `answer_lost`: the first request was accepted, but its reply was not stored.
            PosthouseError: *action* was refused.
        """
        if key is None:
            return await action()
        if (known := self._in_flight.get(key.name)) is not None:
            return await _join(known, key)
        reply: asyncio.Future[DirectReply] = asyncio.get_running_loop().create_future()
        self._in_flight[key.name] = key, reply
        try:
            reply.set_result(await self._run_first(key, action))
        except PosthouseError as error:
            reply.set_exception(error)
            reply.exception()  # marks it as retrieved: it is raised here too
            raise
        finally:
            reply.cancel()  # ends the waiters if the action itself was cancelled
            del self._in_flight[key.name]
        return reply.result()

    async def _run_first(
        self, key: IdempotencyKey, action: Callable[[], Awaitable[DirectReply]]
    ) -> DirectReply:
        if (first := await self._receipts.stored_response(key)) is not None:
            return _replay(first)
        reply = await action()
        try:
            await self._receipts.store_response(key, {"status": reply.status, "body": reply.body})
        except QueueUnavailable as error:
            # A repeat gets the id of the receipt; nothing is done twice.
            self._log.warning("reply could not be stored", extra={"error": str(error)})
        return reply


async def _join(
    known: tuple[IdempotencyKey, "asyncio.Future[DirectReply]"], key: IdempotencyKey
) -> DirectReply:
    if known[0].fingerprint != key.fingerprint:
        raise key_reused()
    return await asyncio.shield(known[1])


def _replay(first: StoredResponse) -> DirectReply:
    if first.answer is None:
        raise Conflict(
            f"the first request with this key was accepted as {first.request_id}, but its reply was lost; "
            f"GET /v1/requests/{first.request_id} returns its state",
            code="answer_lost",
        )
    return DirectReply(request_id=first.request_id, status=first.answer["status"], body=first.answer["body"])
