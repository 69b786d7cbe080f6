"""Direct prompts that were admitted and have not ended, and how their ends are told."""

from collections.abc import Awaitable

from posthouse.errors import PosthouseError
from posthouse.gateway.adapter import Prompt, PromptFailed
from posthouse.gateway.surroundings import Surroundings
from posthouse.gateway.worker import STOPPED
from posthouse.support import clock


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

    def begin(self, prompt: Prompt) -> None:
        """Count *prompt* from now on; `see_through` ends that."""
        self._prompts.append(prompt)
        self._gateway.changed()

    async def see_through(self, prompt: Prompt, action: Awaitable[None]) -> PosthouseError | None:
        """Do *action*, tell the journal if it failed, and return why; None: it went well."""
        error: PosthouseError | None = PromptFailed(STOPPED)
        try:
            error = await self._ending_of(action)
        finally:
            if error is not None:
                self._gateway.journal.add(
                    "control_prompt_failed",
                    turn_id=prompt.turn_id,
                    error_detail=str(error),
                    finished_at_utc=clock.iso_seconds(clock.now()),
                )
            self._prompts.remove(prompt)
            self._gateway.changed()
        return error

    async def _ending_of(self, action: Awaitable[None]) -> PosthouseError | None:
        try:
            await action
        except PosthouseError as error:
            return error
        except Exception as error:  # nobody else would hear of it
            self._gateway.log.exception("direct prompt failed unexpectedly")
            return PromptFailed(f"the gateway failed: {type(error).__name__}; its log has the details")
        return None
