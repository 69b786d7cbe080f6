"""Direct prompts that were admitted and have not ended, and how their ends are told."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.worker import STOPPED
from posthouse.queue import Key, PastQueue
from posthouse.support import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """One admitted prompt, and the receipt that tells what becomes of it."""

    request_id: str
    prompt: Prompt


class InFlight:
    """The admitted prompts of one gateway, oldest first."""

    def __init__(self, gateway: Surroundings) -> None:
        self._gateway = gateway
        self._prompts: list[Prompt] = []

    def __len__(self) -> int:
        return len(self._prompts)

    @property
    def turn_id(self) -> str | None:
        """The turn of the oldest, if it has one."""
        return self._prompts[0].turn_id if self._prompts else None

    async def begin(self, prompt: Prompt, payload: Mapping[str, Any], key: Key | None) -> Flight:
        """Count *prompt* from this very moment on, and begin its receipt; `see_through` ends that.

        Raises:
            KeyReused, QueueUnavailable: Nothing was accepted.
        """
        self._prompts.append(prompt)
        self._gateway.changed()
        past = PastQueue(kind="control_prompt", payload=payload, epoch=self._gateway.epoch())
        try:
            return Flight(request_id=await self._gateway.book.accept(past, key=key), prompt=prompt)
        except BaseException:
            self._end(prompt)
            raise

    async def give(self, flight: Flight, *, while_busy: bool = False) -> None:
        """Give the prompt to the agent; its receipt says so before, and tells how it goes on.

        Raises:
            AgentBusy: Nothing of it reached the agent; the receipt says so, and it may be tried again.
            PosthouseError: As the adapter's `carry_out`.
        """
        async with self._gateway.book.giving(flight.request_id, flight.prompt) as tell:
            await self._gateway.adapter.carry_out(flight.prompt, while_busy=while_busy, tell=tell)

    async def see_through(self, flight: Flight, action: Awaitable[None]) -> PosthouseError | None:
        """Do *action*, tell journal and receipt if it failed, and return why; None: it went well."""
        error: PosthouseError | None = None
        try:
            error = await self._ending_of(action)
            if error is not None:
                self._tell_failed(flight, error)
        except BaseException as broken_off:
            self._tell_failed(flight, broken_off)
            raise
        finally:
            self._end(flight.prompt)
        return error

    def _tell_failed(self, flight: Flight, error: BaseException) -> None:
        self._gateway.journal.add(
            "control_prompt_failed",
            turn_id=flight.prompt.turn_id,
            error_detail=str(error) if isinstance(error, PosthouseError) else STOPPED,
            finished_at_utc=clock.iso_seconds(clock.now()),
        )
        self._gateway.book.failed(flight.request_id, error)

    def _end(self, prompt: Prompt) -> None:
        # The very object: two prompts may say the same.
        self._prompts = [each for each in self._prompts if each is not prompt]
        self._gateway.changed()

    async def _ending_of(self, action: Awaitable[None]) -> PosthouseError | None:
        try:
            await action
        except PosthouseError as error:
            return error
        except Exception as error:  # nobody else would hear of it
            self._gateway.log.exception("direct prompt failed unexpectedly")
            return PromptFailed(f"the gateway failed: {type(error).__name__}; its log has the details")
        return None
