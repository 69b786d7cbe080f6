"""Direct prompts for a TUI: typed when it stands ready, and confirmed."""

import asyncio

from posthouse import tools
from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.contracts import gateway_control_http as wire
from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control import preparation
from posthouse.gateway.control.in_flight import Flight, InFlight
from posthouse.gateway.control.prompt_responses import (
    UNCONFIRMED,
    Answer,
    Dispatched,
    refused,
    require_idle,
    sent,
)
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.slot import SlotTaken
from posthouse.queue import Key
from posthouse.support import clock
from posthouse.tracking.tracker import Belief

_SLOT_SECONDS = 2.0

Outcome = asyncio.Future[PosthouseError | None]


class TypedPrompts:
    """Types direct prompts, one after the other."""

    def __init__(self, gateway: Surroundings, in_flight: InFlight, tui: TuiControl) -> None:
        self._gateway = gateway
        self._in_flight = in_flight
        self._tui = tui

    async def type(self, order: wire.ControlPrompt, key: Key | None, *, deadline: float) -> Dispatched:
        """Give the TUI a prompt, and answer when it took it, at the latest at *deadline*.

        Raises:
            Structured: It was refused, or nothing proves that the TUI took it.
        """
        _check(order)
        if order.policy != "always":
            await self._require_ready(order)
        outcome: Outcome = asyncio.get_running_loop().create_future()
        prompt = Prompt(text=order.prompt)
        flight = await self._in_flight.begin(prompt, {"prompt": order.prompt}, key)
        self._gateway.spawn(self._see_through(order, flight, outcome))
        left = max(deadline - asyncio.get_running_loop().time(), 0.0)
        await asyncio.wait({outcome}, timeout=left)
        answer = _answer(order, flight, outcome.result()) if outcome.done() else sent(order, UNCONFIRMED)
        return Dispatched(request_id=flight.request_id, answer=answer)

    async def _require_ready(self, order: wire.ControlPrompt) -> None:
        """Return when the TUI has stood ready for long enough, or, where that will do, holds no input yet."""
        require_idle(order, self._gateway.status())
        belief = await self._tui.look()
        if order.policy == "if_no_pending" and _takes_into_its_queue(belief):
            return
        _require_promptable(order, belief)
        if (left := self._tui.seconds_to_stability()) > 0:
            await asyncio.sleep(left)
            _require_promptable(order, await self._tui.look())
            if self._tui.seconds_to_stability() > 0:
                raise refused(order, "not_ready", "the TUI does not stand still; try again in a moment")
        # Again, because others were let in meanwhile.
        require_idle(order, self._gateway.status())

    async def _see_through(self, order: wire.ControlPrompt, flight: Flight, outcome: Outcome) -> None:
        error: PosthouseError | None = PromptFailed("the gateway was stopped")
        try:
            error = await self._in_flight.see_through(flight, self._give(order, flight))
        finally:
            outcome.set_result(error)

    async def _give(self, order: wire.ControlPrompt, flight: Flight) -> None:
        is_forced = order.policy == "always"
        # Whether it works was looked at already; a TUI that does may take this one into its own queue.
        while_busy = order.policy != "ready_only"
        async with self._gateway.slot.work("a direct prompt", within_seconds=_SLOT_SECONDS):
            self._gateway.changed()
            if order.chat_session is not None:
                await self._reset()
            await self._tui.noting(flight.prompt, lambda: self._in_flight.give(flight, while_busy=while_busy))
        self._gateway.journal.add(
            "control_prompt_submitted",
            forced=is_forced,
            submitted_at_utc=clock.iso_seconds(clock.now()),
        )

    async def _reset(self) -> None:
        """Start a fresh conversation in the TUI, and wait until it stands ready for the prompt."""
        command = tools.load(self._gateway.attach.backend_metadata.tool).reset_command
        await preparation.run_command(command, self._gateway, self._tui)


def _check(order: wire.ControlPrompt) -> None:
    """Refuse what no TUI can do."""
    if order.chat_session is not None and order.chat_session.mode != "new":
        words = f"chat_session mode {order.chat_session.mode} is for headless agents; a TUI knows only new"
        raise refused(order, "invalid_chat_session", words)
    if order.execution is not None:
        raise refused(order, "invalid_execution", "execution is for headless agents; this one is a TUI")


def _takes_into_its_queue(belief: Belief) -> bool:
    """Whether it works, with an empty composer and nothing waiting."""
    surface = None if belief.sight is None else belief.sight.surface
    return belief.verdict.state == "active" and surface is not None and surface.composer == ""


def _require_promptable(order: wire.ControlPrompt, belief: Belief) -> None:
    if preparation.is_promptable(belief):
        return
    facts = belief.surface
    raise refused(
        order,
        "not_ready",
        "Gateway prompt rejected because the TUI is not submit-ready: "
        f"turn {belief.turn.phase}, accepting input {facts.accepting}, draft {facts.editing}, "
        f"ready posture {facts.posture}.",
    )


def _answer(order: wire.ControlPrompt, flight: Flight, error: PosthouseError | None) -> Answer:
    if isinstance(error, SlotTaken):
        raise refused(order, "not_ready", str(error), request_id=flight.request_id) from error
    if error is not None:
        raise refused(order, "dispatch_failed", str(error), request_id=flight.request_id) from error
    return sent(order)
