"""Whether the agent accepts a wake-up prompt now, and if not, why."""

import asyncio

from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control import preparation
from posthouse.gateway.control.tui import TuiControl


async def busy_reason(gateway: GatewayContext, tui: TuiControl) -> str | None:
    """Human-readable reason why the agent is not prompt-ready; None when it is.

    The same rule as for a direct prompt without force. Waits for a ready TUI until it counts as stable.
    """
    if (reason := _gateway_reason(gateway)) is not None:
        return reason
    if gateway.adapter.is_headless:
        turn = await gateway.adapter.running_turn()
        return None if turn is None else f"{turn.turn_id} is running"
    if (reason := await _tui_reason(tui)) is not None:
        return reason
    # Again: other work may have started during the wait.
    return _gateway_reason(gateway)


def _gateway_reason(gateway: GatewayContext) -> str | None:
    status = gateway.status()
    if status.request_admission != "open":
        return f"request admission is {status.request_admission}"
    if status.active_execution != "idle":
        return "another request is executing"
    return f"{status.queue_depth} requests are queued" if status.queue_depth else None


async def _tui_reason(tui: TuiControl) -> str | None:
    state = await tui.refresh()
    if preparation.is_promptable(state) and (left := tui.seconds_to_stability()) > 0:
        await asyncio.sleep(left)
        state = await tui.refresh()
    if not preparation.is_promptable(state):
        facts = state.surface
        return f"the TUI is not submit-ready: turn {state.turn.phase}, ready posture {facts.posture}"
    return "the TUI is not stable" if tui.seconds_to_stability() > 0 else None
