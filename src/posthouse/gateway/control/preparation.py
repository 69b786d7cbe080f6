"""Commands typed into a TUI before a prompt, and the wait until it is ready again."""

import asyncio

from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.tui import TuiControl
from posthouse.tracking.tracker import TuiState

_SECONDS = 15.0
_POLL_SECONDS = 0.2


def is_promptable(state: TuiState) -> bool:
    """Whether the TUI would accept a prompt typed now."""
    return state.turn.phase == "ready" and state.surface.is_promptable


async def run_command(command: str, gateway: GatewayContext, tui: TuiControl) -> None:
    """Type *command* and return when the TUI is ready for a prompt. The caller holds the slot.

    Raises:
        PromptFailed: It was not ready within 15 s.
        PosthouseError: The command was not accepted.
    """
    await gateway.adapter.execute(Prompt(text=command))
    async with gateway.slot.waiting():
        try:
            async with asyncio.timeout(_SECONDS):
                await _until_promptable(tui)
        except TimeoutError:
            raise PromptFailed(
                f"{command} was typed, but the TUI was not ready within {_SECONDS:g} s; "
                "the prompt was not sent"
            ) from None


async def _until_promptable(tui: TuiControl) -> None:
    while True:
        # The screen shows a command's effect after a short delay.
        await asyncio.sleep(_POLL_SECONDS)
        if is_promptable(await tui.refresh()) and tui.seconds_to_stability() == 0:
            return
