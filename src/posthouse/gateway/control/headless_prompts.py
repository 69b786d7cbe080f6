"""Direct prompts for a headless agent: admitted at once; each turn runs in the background."""

import asyncio
from dataclasses import replace

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.contracts import gateway_control_http as wire
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.headless import HeadlessControl, ManifestUnreadable
from posthouse.gateway.control.in_flight import InFlightPrompt, InFlightPrompts
from posthouse.gateway.control.prompt_responses import Dispatched, accepted, refusal, require_idle
from posthouse.queue import IdempotencyKey
from posthouse.support import clock
from posthouse.turns.runner import new_turn_id

_RETRY_SECONDS = 1.0
_PAYLOAD = {"prompt", "chat_session", "execution"}


class HeadlessPrompts:
    """Admits direct prompts and runs their turns to the end."""

    def __init__(
        self, gateway: GatewayContext, in_flight: InFlightPrompts, headless: HeadlessControl
    ) -> None:
        self._gateway = gateway
        self._in_flight = in_flight
        self._headless = headless

    async def start(self, order: wire.ControlPrompt, key: IdempotencyKey | None) -> Dispatched:
        """Admit a turn for *order*. It starts when the agent is free; an event records its end.

        Raises:
            StructuredError: It was refused; no turn will start.
        """
        await self._require_free(order)
        await self._check_chat(order)
        # No await between this check and `begin`, so that two callers can't both be admitted.
        self._require_room(order)
        prompt, epoch = self._prompt_of(order), self._gateway.epoch()
        payload = order.model_dump(mode="json", include=_PAYLOAD)
        in_flight = await self._in_flight.begin(prompt, payload, key)
        self._gateway.journal.add(
            "control_prompt_submitted",
            forced=order.policy == "always",
            submitted_at_utc=clock.iso_seconds(clock.now()),
            turn_id=prompt.turn_id,
        )
        self._gateway.spawn(self._run(in_flight, epoch))
        return Dispatched(request_id=in_flight.request_id, response=accepted(order))

    async def _require_free(self, order: wire.ControlPrompt) -> None:
        self._require_room(order)
        turn = await self._gateway.adapter.running_turn() if order.policy == "ready_only" else None
        if turn is not None:
            raise refusal(order, "not_ready", f"{turn.turn_id} is running; wait for it, or send with force")

    def _require_room(self, order: wire.ControlPrompt) -> None:
        if order.policy == "ready_only":
            require_idle(order, self._gateway.status())
        waits = self._gateway.queue.counts.accepted or len(self._in_flight) > 1
        if order.policy == "if_no_pending" and waits:
            raise refusal(order, "not_ready", "other prompts already wait for this agent")

    async def _check_chat(self, order: wire.ControlPrompt) -> None:
        if order.chat_session is None or order.chat_session.mode != "current":
            return
        try:
            conversations = await self._headless.read_conversations()
        except ManifestUnreadable as error:
            raise refusal(order, "unavailable", str(error)) from error
        if conversations.session_id is None:
            message = "no conversation is pinned yet; ask for a new one, or leave chat_session out"
            raise refusal(order, "missing_current_chat_session", message)

    def _prompt_of(self, order: wire.ControlPrompt) -> Prompt:
        asked = Prompt.from_payload(order.model_dump(mode="json", include=_PAYLOAD))
        starts_new = asked.chat_mode in (None, "auto") and self._headless.take_override()
        return replace(asked, turn_id=new_turn_id(), chat_mode="new" if starts_new else asked.chat_mode)

    async def _run(self, in_flight: InFlightPrompt, epoch: int) -> None:
        error = await self._in_flight.run_to_end(in_flight, self._deliver_when_free(in_flight, epoch))
        if error is None:
            self._gateway.journal.add(
                "control_prompt_completed",
                turn_id=in_flight.prompt.turn_id,
                finished_at_utc=clock.iso_seconds(clock.now()),
            )

    async def _deliver_when_free(self, in_flight: InFlightPrompt, epoch: int) -> None:
        """Run the prompt when the agent is free; fail if the agent was replaced since admission."""
        while True:
            await self._gateway.adapter.wait_ready()
            if await self._try_deliver(in_flight, epoch):
                return
            await asyncio.sleep(_RETRY_SECONDS)

    async def _try_deliver(self, in_flight: InFlightPrompt, epoch: int) -> bool:
        async with self._gateway.slot.work("a direct prompt"):
            self._gateway.notify_changed()
            if self._gateway.epoch() != epoch:
                raise PromptFailed("the agent was replaced before the prompt's turn came")
            try:
                await self._in_flight.deliver(in_flight)
            except AgentBusy as error:
                self._gateway.log.info("direct prompt waits", extra={"reason": str(error)})
                return False
        return True
