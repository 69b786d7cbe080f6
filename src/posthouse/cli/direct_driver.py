"""Driving an agent from here, when no gateway does: the gateway's own adapters in a thread here."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from posthouse.errors import Conflict
from posthouse.sessions.session import Session
from posthouse.support import clock

if TYPE_CHECKING:
    from posthouse.agent.adapter import AgentAdapter, Ending, Prompt, Step, Tell

#: How long a prompt waits for a busy agent when nobody said how long.
READY_SECONDS = 60.0


class StillBusy(Conflict):
    """The agent did not become ready in time; nothing was given to it."""

    code = "agent_busy"


class Carrier:
    """Carries out one prompt while the caller looks at what it leaves on disk.

    A daemon: a caller that gives up may leave. A turn that has begun goes on without us, only the
    conversation it ran in is then not remembered for the next one.
    """

    def __init__(self, found: Session, prompt: "Prompt", *, ready_seconds: float) -> None:
        self.error: Exception | None = None
        #: When the text of the prompt stood in a TUI's composer, before it was submitted. The pane's lock is
        #: held from then until the TUI has it, so it gets no other prompt of ours in between.
        self.typed_at_utc: str | None = None
        work = _carry(found, prompt, ready_seconds, self._note)
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
            Exception: It was not carried out; `OSError` when the disk refused.
        """
        self.join()
        if self.error is not None:
            raise self.error

    def _note(self, step: "Step | Ending") -> None:
        if getattr(step, "stage", None) == "typed":
            now = clock.now()
            # Transcripts have milliseconds.
            self.typed_at_utc = clock.iso_micros(now.replace(microsecond=now.microsecond // 1000 * 1000))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run(work)
        except Exception as error:  # noqa: BLE001 - raised in `finish`: nobody reads a thread's traceback
            self.error = error


def interrupt(found: Session) -> bool:
    """Interrupt the turn that runs now. False: there is none."""

    async def work() -> bool:
        adapter = await _open(found)
        try:
            running = await adapter.running_turn()
            return running is not None and await running.interrupt()
        finally:
            await adapter.close()

    return asyncio.run(work())


async def _carry(found: Session, prompt: "Prompt", ready_seconds: float, tell: "Tell") -> None:
    adapter = await _open(found)
    try:
        try:
            async with asyncio.timeout(ready_seconds):
                await adapter.wait_ready()
        except TimeoutError:
            raise StillBusy(
                f"agent {found.agent_name!r} did not become ready within {ready_seconds:g} s"
            ) from None
        await adapter.carry_out(prompt, tell=tell)
    finally:
        await adapter.close()


async def _open(found: Session) -> "AgentAdapter":
    from posthouse import agent

    adapter = agent.of(found)
    await adapter.open(lambda: None)
    return adapter
