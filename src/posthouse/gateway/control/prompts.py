"""Direct prompts: given to the agent now, bypassing the queue, or refused with a machine-readable reason.

Admitted prompts run in the background, so a disconnecting caller does not affect them.
"""

import asyncio

from posthouse.contracts import gateway_control_http as wire
from posthouse.errors import Conflict, Unavailable
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.headless import HeadlessControl
from posthouse.gateway.control.headless_prompts import HeadlessPrompts
from posthouse.gateway.control.in_flight import InFlightPrompts
from posthouse.gateway.control.prompt_responses import Dispatched, refusal
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.control.tui_prompts import TuiPrompts
from posthouse.queue import IdempotencyKey, QueueUnavailable

#: Clients give up after 5 s.
ANSWER_SECONDS = 4.0


class DirectControl:
    """Admits direct prompts and runs them to the end."""

    def __init__(self, gateway: GatewayContext, tui: TuiControl) -> None:
        self._gateway = gateway
        self._in_flight = InFlightPrompts(gateway)
        self.headless = HeadlessControl(gateway, direct_turn_id=lambda: self._in_flight.turn_id)
        self._headless_prompts = HeadlessPrompts(gateway, self._in_flight, self.headless)
        self._tui_prompts = TuiPrompts(gateway, self._in_flight, tui)

    @property
    def is_busy(self) -> bool:
        """Whether an admitted prompt has not ended."""
        return len(self._in_flight) > 0

    async def prompt(self, order: wire.ControlPrompt, key: IdempotencyKey | None = None) -> Dispatched:
        """Give the agent a prompt now.

        For a TUI, returns when the prompt is confirmed, or after 4 s while it is still unconfirmed; for a
        headless agent, when the turn is admitted. The receipt is then on disk, with idempotency key *key*.

        Raises:
            StructuredError: It was refused; the detail holds code and reason.
        """
        deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS
        try:
            await self._gateway.admit()
        except Conflict as error:
            raise refusal(order, "blocked_reconciliation", str(error)) from error
        except Unavailable as error:
            raise refusal(order, "unavailable", str(error)) from error
        try:
            if self._gateway.adapter.is_headless:
                return await self._headless_prompts.start(order, key)
            return await self._tui_prompts.submit(order, key, deadline=deadline)
        except QueueUnavailable as error:
            raise refusal(order, "unavailable", str(error)) from error
