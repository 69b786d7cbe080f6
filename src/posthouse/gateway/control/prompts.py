"""Direct prompts: given to the agent now, past the queue, or refused with a reason that programs read.

What was admitted is carried out in the background, so that a caller who stopped listening changes
nothing.
"""

import asyncio

from posthouse.contracts import gateway_control_http as wire
from posthouse.errors import Conflict, Unavailable
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.headless import HeadlessControl
from posthouse.gateway.control.headless_prompts import PromptTurns
from posthouse.gateway.control.in_flight import InFlight
from posthouse.gateway.control.prompt_responses import Dispatched, refused
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.control.tui_prompts import TypedPrompts
from posthouse.queue import Key, QueueUnavailable

#: Clients give up after 5 s.
ANSWER_SECONDS = 4.0


class DirectControl:
    """Admits direct prompts and sees them through."""

    def __init__(self, gateway: Surroundings, tui: TuiControl) -> None:
        self._gateway = gateway
        self._in_flight = InFlight(gateway)
        self.headless = HeadlessControl(gateway, direct_turn_id=lambda: self._in_flight.turn_id)
        self._turns = PromptTurns(gateway, self._in_flight, self.headless)
        self._typed = TypedPrompts(gateway, self._in_flight, tui)

    @property
    def is_busy(self) -> bool:
        """Whether an admitted prompt has not ended."""
        return len(self._in_flight) > 0

    async def prompt(self, order: wire.ControlPrompt, key: Key | None = None) -> Dispatched:
        """Give the agent a prompt now.

        Returns once a TUI took it, or after 4 s while that is still being found out; for a headless
        agent, once its turn is admitted. Either way its receipt is on disk, with *key* if one was given.

        Raises:
            Structured: It was refused; the detail has the code and the reason.
        """
        deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS
        try:
            await self._gateway.admit()
        except Conflict as error:
            raise refused(order, "blocked_reconciliation", str(error)) from error
        except Unavailable as error:
            raise refused(order, "unavailable", str(error)) from error
        try:
            if self._gateway.adapter.is_headless:
                return await self._turns.start(order, key)
            return await self._typed.type(order, key, deadline=deadline)
        except QueueUnavailable as error:
            raise refused(order, "unavailable", str(error)) from error
