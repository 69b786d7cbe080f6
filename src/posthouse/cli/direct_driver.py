"""Drives an agent without a gateway: runs the gateway's adapters in a thread of this process."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from posthouse.errors import Conflict
from posthouse.sessions.session import Session
from posthouse.support import clock

if TYPE_CHECKING:
    from posthouse.agent.adapter import AgentAdapter, OnProgress, Prompt, PromptProgress, PromptResult

#: Default wait for a busy agent.
READY_SECONDS = 60.0


class PromptThread:
    """Runs one prompt in a thread while the caller polls its files.

    A daemon thread: the process may exit before it ends. A turn that has started continues then, but its
    conversation is not recorded for the next turn.
    """

    def __init__(self, session: Session, prompt: "Prompt", *, ready_seconds: float) -> None:
        self.error: Exception | None = None
        #: When the prompt's text was in the TUI's composer, before it was submitted. The pane's lock is held
        #: from then until the TUI has accepted it, so no other prompt of ours comes in between.
        self.typed_at_utc: str | None = None
        work = _run_prompt(session, prompt, ready_seconds, self._record_step)
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def join(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def finish(self) -> None:
        """Wait for the end.

        Raises:
            Exception: The prompt failed; `OSError` on a disk error.
        """
        self.join()
        if self.error is not None:
            raise self.error

    def _record_step(self, step: "PromptProgress | PromptResult") -> None:
        if getattr(step, "stage", None) == "typed":
            now = clock.now()
            # Transcripts have a resolution of 1 ms.
            self.typed_at_utc = clock.iso_micros(now.replace(microsecond=now.microsecond // 1000 * 1000))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run(work)
        except Exception as error:  # noqa: BLE001 - raised in `finish`
            self.error = error


def interrupt(session: Session) -> bool:
    """Interrupt the running turn. False: there is none."""

    async def work() -> bool:
        adapter = await _open(session)
        try:
            running = await adapter.running_turn()
            return running is not None and await running.interrupt()
        finally:
            await adapter.close()

    return asyncio.run(work())


async def _run_prompt(
    session: Session, prompt: "Prompt", ready_seconds: float, on_progress: "OnProgress"
) -> None:
    adapter = await _open(session)
    try:
        try:
            async with asyncio.timeout(ready_seconds):
                await adapter.wait_ready()
        except TimeoutError:
            raise Conflict(
                f"agent {session.agent_name!r} did not become ready within {ready_seconds:g} s",
                code="agent_busy",
            ) from None
        await adapter.execute(prompt, on_progress=on_progress)
    finally:
        await adapter.close()


async def _open(session: Session) -> "AgentAdapter":
    from posthouse import agent

    adapter = agent.for_session(session)
    await adapter.open(lambda: None)
    return adapter
