"""Raw keys for the agent's terminal, independent of prompts."""

from posthouse.agent.adapter import no_raw_input
from posthouse.contracts.gateway_control_http import KeysSent, SendKeys
from posthouse.errors import InvalidInput, Unavailable
from posthouse.gateway.context import GatewayContext
from posthouse.support import clock
from posthouse.terminal import keys

#: How long keys wait for a paste in progress.
WAIT_SECONDS = 2.0


class RawKeys:
    """Types raw keys; makes no claim about their effect."""

    def __init__(self, gateway: GatewayContext) -> None:
        self._gateway = gateway

    async def send(self, order: SendKeys) -> KeysSent:
        """Type the keys now: ahead of work that waits for the agent, after a paste in progress.

        Raises:
            Conflict, Unavailable: The agent is not available for requests.
            InvalidInput: It is headless (`no_raw_input`).
            InvalidInput: `unknown_key`: A token names no key; nothing was typed.
            SlotTaken: Something was still being typed after 2 s; nothing was.
            KeysNotTaken: The program ended, or a person scrolls.
            InvalidInput: The terminal failed; some keys may have been typed (`keys_failed`).
        """
        gateway = self._gateway
        await gateway.admit()
        if gateway.adapter.is_headless:
            raise no_raw_input()
        parts = keys.parse(order.sequence, literal=order.escape_special_keys)
        async with gateway.slot.keys(within_seconds=WAIT_SECONDS):
            try:
                await gateway.adapter.send_keys(parts)
            except Unavailable as error:
                raise InvalidInput(f"the keys could not be typed: {error}", code="keys_failed") from error
        gateway.notify_changed()
        gateway.journal.add(
            "control_input",
            escape_special_keys=order.escape_special_keys,
            sequence_preview=None,
            submitted_at_utc=clock.iso_seconds(clock.now()),
        )
        return KeysSent(detail="Delivered control input to the local interactive session.")
