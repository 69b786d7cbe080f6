"""Whether the agent would take a wake-up prompt now, and if not, why."""

import asyncio

from posthouse.gateway.context import Surroundings
from posthouse.gateway.control import preparation
from posthouse.gateway.control.tui import TuiControl


async def busy_reason(gateway: Surroundings, tui: TuiControl) -> str | None:
    """Why the agent is not prompt-ready, for a person; None: it is.

    The same rule as for a direct prompt without force. A TUI that just came to rest is waited for as long
    as it takes to count as stable.
    """
    if (reason := _gateway_reason(gateway)) is not None:
        return reason
    if gateway.adapter.is_headless:
        turn = await gateway.adapter.running_turn()
        return None if turn is None else f"{turn.turn_id} runs"
    if (reason := await _tui_reason(tui)) is not None:
        return reason
    # Again, because others were let in meanwhile.
    return _gateway_reason(gateway)


def _gateway_reason(gateway: Surroundings) -> str | None:
    status = gateway.status()
    if status.request_admission != "open":
        return f"request admission is {status.request_admission}"
    if status.active_execution != "idle":
        return "something else is being carried out"
    return f"{status.queue_depth} requests wait in the queue" if status.queue_depth else None


async def _tui_reason(tui: TuiControl) -> str | None:
    belief = await tui.look()
    if preparation.is_promptable(belief) and (left := tui.seconds_to_stability()) > 0:
        await asyncio.sleep(left)
        belief = await tui.look()
    if not preparation.is_promptable(belief):
        facts = belief.surface
        return f"the TUI is not submit-ready: turn {belief.turn.phase}, ready posture {facts.posture}"
    return "the TUI does not stand still" if tui.seconds_to_stability() > 0 else None
