"""Raw keys for the agent's terminal, outside of any prompt."""

from posthouse.agent.adapter import NoRawInput
from posthouse.contracts.gateway_control_http import KeysSent, SendKeys
from posthouse.errors import InvalidInput, Unavailable
from posthouse.gateway.context import Surroundings
from posthouse.support import clock
from posthouse.terminal import keys

#: How long keys wait for a paste in progress.
WAIT_SECONDS = 2.0


class KeysFailed(InvalidInput):
    """The terminal failed while the keys were typed; some of them may have been."""

    code = "keys_failed"


class RawKeys:
    """Types what it is told, and claims nothing about what that does."""

    def __init__(self, gateway: Surroundings) -> None:
        self._gateway = gateway

    async def send(self, order: SendKeys) -> KeysSent:
        """Type the keys now. They pass work that waits for the agent, and wait for a paste in progress.

        Raises:
            ReconciliationRequired, AgentUnavailable: The agent may not be asked.
            NoRawInput: It is headless.
            UnknownKey: A token names no key; nothing was typed.
            SlotTaken: Something was still being typed after 2 s; nothing was.
            KeysNotTaken: The program ended, or a person scrolls.
            KeysFailed: The terminal failed; it took none, or not all of it.
        """
        gateway = self._gateway
        await gateway.admit()
        if gateway.adapter.is_headless:
            raise NoRawInput
        parts = keys.parse(order.sequence, literal=order.escape_special_keys)
        async with gateway.slot.keys(within_seconds=WAIT_SECONDS):
            try:
                await gateway.adapter.press(parts)
            except Unavailable as error:
                raise KeysFailed(f"the keys could not be typed: {error}") from error
        gateway.changed()
        gateway.journal.add(
            "control_input",
            escape_special_keys=order.escape_special_keys,
            sequence_preview=None,
            submitted_at_utc=clock.iso_seconds(clock.now()),
        )
        return KeysSent(detail="Delivered control input to the local interactive session.")
