"""The target of an interrupt while work holds the slot but has not started its turn."""

import asyncio

from posthouse.agent.adapter import AgentAdapter
from posthouse.gateway.slot import Slot

_POLL_SECONDS = 0.05


class PendingTurn:
    """The turn that the current holder of the slot is about to start, and no later one."""

    turn_id: str | None = None

    def __init__(self, adapter: AgentAdapter, slot: Slot) -> None:
        self._adapter = adapter
        self._slot = slot
        self._work = slot.work_number

    async def interrupt(self) -> bool:
        """Interrupt the turn as soon as it starts. False: the work ended without a turn."""
        while self._is_same():
            turn = await self._adapter.running_turn()
            if turn is not None and self._is_same():
                return await turn.interrupt()
            await asyncio.sleep(_POLL_SECONDS)
        return False

    def _is_same(self) -> bool:
        return self._work is not None and self._slot.work_number == self._work
