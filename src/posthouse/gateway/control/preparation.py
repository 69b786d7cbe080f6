"""Commands typed into a TUI before a prompt, and the wait until it stands ready again."""

import asyncio

from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.tui import TuiControl
from posthouse.tracking.tracker import Belief

_SECONDS = 15.0
_LOOK_AGAIN_SECONDS = 0.2


def is_promptable(belief: Belief) -> bool:
    """Whether a prompt that is typed now would be taken as one."""
    return belief.turn.phase == "ready" and belief.surface.is_promptable


async def run_command(command: str, gateway: Surroundings, tui: TuiControl) -> None:
    """Type *command* and return when the TUI is ready for a prompt. The caller holds the slot.

    Raises:
        PromptFailed: It was not ready within 15 s.
        PosthouseError: The command was not taken.
    """
    await gateway.adapter.carry_out(Prompt(text=command))
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
        # The screen shows a moment later what a command did.
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        if is_promptable(await tui.look()) and tui.seconds_to_stability() == 0:
            return
