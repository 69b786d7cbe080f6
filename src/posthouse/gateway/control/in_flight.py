"""Direct prompts that were admitted and have not ended, and how their results are recorded."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.worker import STOPPED
from posthouse.queue import DirectPrompt, IdempotencyKey
from posthouse.support import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightPrompt:
    """One admitted prompt and the id of its receipt."""

    request_id: str
    prompt: Prompt


class InFlightPrompts:
    """The admitted prompts of one gateway, oldest first."""

    def __init__(self, gateway: GatewayContext) -> None:
        self._gateway = gateway
        self._prompts: list[Prompt] = []

    def __len__(self) -> int:
        return len(self._prompts)

    @property
    def turn_id(self) -> str | None:
        """The turn of the oldest, if it has one."""
        return self._prompts[0].turn_id if self._prompts else None

    async def begin(
        self, prompt: Prompt, payload: Mapping[str, Any], key: IdempotencyKey | None
    ) -> InFlightPrompt:
        """Count *prompt* immediately and create its receipt; `run_to_end` removes it.

        Raises:
            InvalidInput, QueueUnavailable: Nothing was accepted.
        """
        self._prompts.append(prompt)
        self._gateway.notify_changed()
        request = DirectPrompt(kind="control_prompt", payload=payload, epoch=self._gateway.epoch())
        try:
            return InFlightPrompt(
                request_id=await self._gateway.receipts.accept(request, key=key), prompt=prompt
            )
        except BaseException:
            self._end(prompt)
            raise

    async def deliver(self, in_flight: InFlightPrompt, *, while_busy: bool = False) -> None:
        """Give the prompt to the agent. The receipt records the attempt first, then the progress.

        Raises:
            AgentBusy: Nothing reached the agent; the receipt records this, and a retry is safe.
            PosthouseError: As the adapter's `execute`.
        """
        async with self._gateway.receipts.delivery(in_flight.request_id, in_flight.prompt) as on_progress:
            await self._gateway.adapter.execute(
                in_flight.prompt, while_busy=while_busy, on_progress=on_progress
            )

    async def run_to_end(self, in_flight: InFlightPrompt, action: Awaitable[None]) -> PosthouseError | None:
        """Run *action*; record a failure in journal and receipt and return it. None means success."""
        error: PosthouseError | None = None
        try:
            error = await self._error_of(action)
            if error is not None:
                self._record_failure(in_flight, error)
        except BaseException as interruption:
            self._record_failure(in_flight, interruption)
            raise
        finally:
            self._end(in_flight.prompt)
        return error

    def _record_failure(self, in_flight: InFlightPrompt, error: BaseException) -> None:
        self._gateway.journal.add(
            "control_prompt_failed",
            turn_id=in_flight.prompt.turn_id,
            error_detail=str(error) if isinstance(error, PosthouseError) else STOPPED,
            finished_at_utc=clock.iso_seconds(clock.now()),
        )
        self._gateway.receipts.failed(in_flight.request_id, error)

    def _end(self, prompt: Prompt) -> None:
        # By identity: two prompts may have equal text.
        self._prompts = [each for each in self._prompts if each is not prompt]
        self._gateway.notify_changed()

    async def _error_of(self, action: Awaitable[None]) -> PosthouseError | None:
        try:
            await action
        except PosthouseError as error:
            return error
        except Exception as error:  # a background task: nothing else reports it
            self._gateway.log.exception("direct prompt failed unexpectedly")
            return PromptFailed(f"the gateway failed: {type(error).__name__}; its log has the details")
        return None
