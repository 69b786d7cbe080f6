"""Direct prompts for a TUI: typed when it is ready, and confirmed."""

import asyncio

from posthouse import tools
from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.contracts import gateway_control_http as wire
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control import preparation
from posthouse.gateway.control.in_flight import InFlightPrompt, InFlightPrompts
from posthouse.gateway.control.prompt_responses import (
    UNCONFIRMED,
    Dispatched,
    PromptResponse,
    accepted,
    refusal,
    require_idle,
)
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.slot import SlotTaken
from posthouse.queue import IdempotencyKey
from posthouse.support import clock
from posthouse.tracking.tracker import TuiState

_SLOT_SECONDS = 2.0

DeliveryResult = asyncio.Future[PosthouseError | None]


class TuiPrompts:
    """Types direct prompts, one at a time."""

    def __init__(self, gateway: GatewayContext, in_flight: InFlightPrompts, tui: TuiControl) -> None:
        self._gateway = gateway
        self._in_flight = in_flight
        self._tui = tui

    async def submit(
        self, order: wire.ControlPrompt, key: IdempotencyKey | None, *, deadline: float
    ) -> Dispatched:
        """Give the TUI a prompt; return when it is confirmed, at the latest at *deadline*.

        Raises:
            StructuredError: It was refused or its submission is unconfirmed.
        """
        _check(order)
        if order.policy != "always":
            await self._require_ready(order)
        outcome: DeliveryResult = asyncio.get_running_loop().create_future()
        prompt = Prompt(text=order.prompt)
        in_flight = await self._in_flight.begin(prompt, {"prompt": order.prompt}, key)
        self._gateway.spawn(self._run(order, in_flight, outcome))
        left = max(deadline - asyncio.get_running_loop().time(), 0.0)
        await asyncio.wait({outcome}, timeout=left)
        answer = (
            _response(order, in_flight, outcome.result()) if outcome.done() else accepted(order, UNCONFIRMED)
        )
        return Dispatched(request_id=in_flight.request_id, response=answer)

    async def _require_ready(self, order: wire.ControlPrompt) -> None:
        """Return when the TUI is stable and ready, or, under `if_no_pending`, can queue the prompt."""
        require_idle(order, self._gateway.status())
        state = await self._tui.refresh()
        if order.policy == "if_no_pending" and _can_queue(state):
            return
        _require_promptable(order, state)
        if (left := self._tui.seconds_to_stability()) > 0:
            await asyncio.sleep(left)
            _require_promptable(order, await self._tui.refresh())
            if self._tui.seconds_to_stability() > 0:
                raise refusal(order, "not_ready", "the TUI is not stable; try again in a moment")
        # Again: other work may have started during the wait.
        require_idle(order, self._gateway.status())

    async def _run(
        self, order: wire.ControlPrompt, in_flight: InFlightPrompt, outcome: DeliveryResult
    ) -> None:
        error: PosthouseError | None = PromptFailed("the gateway was stopped")
        try:
            error = await self._in_flight.run_to_end(in_flight, self._deliver(order, in_flight))
        finally:
            outcome.set_result(error)

    async def _deliver(self, order: wire.ControlPrompt, in_flight: InFlightPrompt) -> None:
        is_forced = order.policy == "always"
        # `_require_ready` has checked the policy; a working TUI may put the prompt into its own queue.
        while_busy = order.policy != "ready_only"
        async with self._gateway.slot.work("a direct prompt", within_seconds=_SLOT_SECONDS):
            self._gateway.notify_changed()
            if order.chat_session is not None:
                await self._reset()
            await self._tui.track_prompt(
                in_flight.prompt, lambda: self._in_flight.deliver(in_flight, while_busy=while_busy)
            )
        self._gateway.journal.add(
            "control_prompt_submitted",
            forced=is_forced,
            submitted_at_utc=clock.iso_seconds(clock.now()),
        )

    async def _reset(self) -> None:
        """Start a new conversation in the TUI and wait until it is ready for the prompt."""
        command = tools.load(self._gateway.attach.backend_metadata.tool).reset_command
        await preparation.run_command(command, self._gateway, self._tui)


def _check(order: wire.ControlPrompt) -> None:
    """Refuse options that a TUI does not support."""
    if order.chat_session is not None and order.chat_session.mode != "new":
        message = (
            f"chat_session mode {order.chat_session.mode} is for headless agents; a TUI supports only new"
        )
        raise refusal(order, "invalid_chat_session", message)
    if order.execution is not None:
        raise refusal(order, "invalid_execution", "execution is for headless agents; this one is a TUI")


def _can_queue(state: TuiState) -> bool:
    """Whether the TUI is working and its composer is empty."""
    surface = None if state.observation is None else state.observation.surface
    return state.inferred.state == "active" and surface is not None and surface.composer == ""


def _require_promptable(order: wire.ControlPrompt, state: TuiState) -> None:
    if preparation.is_promptable(state):
        return
    facts = state.surface
    raise refusal(
        order,
        "not_ready",
        "Gateway prompt rejected because the TUI is not submit-ready: "
        f"turn {state.turn.phase}, accepting input {facts.accepting}, draft {facts.editing}, "
        f"ready posture {facts.posture}.",
    )


def _response(
    order: wire.ControlPrompt, in_flight: InFlightPrompt, error: PosthouseError | None
) -> PromptResponse:
    if isinstance(error, SlotTaken):
        raise refusal(order, "not_ready", str(error), request_id=in_flight.request_id) from error
    if error is not None:
        raise refusal(order, "dispatch_failed", str(error), request_id=in_flight.request_id) from error
    return accepted(order)
