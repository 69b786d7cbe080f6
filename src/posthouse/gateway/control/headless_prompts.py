"""Direct prompts for a headless agent: each is admitted at once, and its turn goes on by itself."""

import asyncio
from dataclasses import replace

from posthouse.agent.adapter import AgentBusy, Prompt, PromptFailed
from posthouse.contracts import gateway_control_http as wire
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.headless import HeadlessControl, ManifestUnreadable
from posthouse.gateway.control.in_flight import Flight, InFlight
from posthouse.gateway.control.prompt_responses import Dispatched, refused, require_idle, sent
from posthouse.queue import Key
from posthouse.support import clock
from posthouse.turns.runner import new_turn_id

_RETRY_SECONDS = 1.0
_PAYLOAD = {"prompt", "chat_session", "execution"}


class PromptTurns:
    """Admits direct prompts and sees their turns through."""

    def __init__(self, gateway: Surroundings, in_flight: InFlight, headless: HeadlessControl) -> None:
        self._gateway = gateway
        self._in_flight = in_flight
        self._headless = headless

    async def start(self, order: wire.ControlPrompt, key: Key | None) -> Dispatched:
        """Admit a turn for *order*. It starts when nothing else runs, and its end is in the events.

        Raises:
            Structured: It was refused; no turn will start.
        """
        await self._require_free(order)
        await self._check_chat(order)
        # Between this look and the counting nothing waits, so that two callers can't both find it free.
        self._require_room(order)
        prompt, epoch = self._prompt_of(order), self._gateway.epoch()
        payload = order.model_dump(mode="json", include=_PAYLOAD)
        flight = await self._in_flight.begin(prompt, payload, key)
        self._gateway.journal.add(
            "control_prompt_submitted",
            forced=order.policy == "always",
            submitted_at_utc=clock.iso_seconds(clock.now()),
            turn_id=prompt.turn_id,
        )
        self._gateway.spawn(self._see_through(flight, epoch))
        return Dispatched(request_id=flight.request_id, answer=sent(order))

    async def _require_free(self, order: wire.ControlPrompt) -> None:
        self._require_room(order)
        turn = await self._gateway.adapter.running_turn() if order.policy == "ready_only" else None
        if turn is not None:
            raise refused(order, "not_ready", f"{turn.turn_id} runs; wait for it, or send with force")

    def _require_room(self, order: wire.ControlPrompt) -> None:
        if order.policy == "ready_only":
            require_idle(order, self._gateway.status())
        waits = self._gateway.queue.counts.accepted or len(self._in_flight) > 1
        if order.policy == "if_no_pending" and waits:
            raise refused(order, "not_ready", "other prompts wait for this agent already")

    async def _check_chat(self, order: wire.ControlPrompt) -> None:
        if order.chat_session is None or order.chat_session.mode != "current":
            return
        try:
            chats = await self._headless.chats()
        except ManifestUnreadable as error:
            raise refused(order, "unavailable", str(error)) from error
        if chats.session_id is None:
            words = "no conversation is pinned yet; ask for a new one, or leave chat_session out"
            raise refused(order, "missing_current_chat_session", words)

    def _prompt_of(self, order: wire.ControlPrompt) -> Prompt:
        asked = Prompt.from_payload(order.model_dump(mode="json", include=_PAYLOAD))
        starts_new = asked.chat_mode in (None, "auto") and self._headless.take_override()
        return replace(asked, turn_id=new_turn_id(), chat_mode="new" if starts_new else asked.chat_mode)

    async def _see_through(self, flight: Flight, epoch: int) -> None:
        error = await self._in_flight.see_through(flight, self._when_free(flight, epoch))
        if error is None:
            self._gateway.journal.add(
                "control_prompt_completed",
                turn_id=flight.prompt.turn_id,
                finished_at_utc=clock.iso_seconds(clock.now()),
            )

    async def _when_free(self, flight: Flight, epoch: int) -> None:
        """Carry out the prompt when it is its turn, in the agent it was admitted for."""
        while True:
            await self._gateway.adapter.wait_ready()
            if await self._was_taken(flight, epoch):
                return
            await asyncio.sleep(_RETRY_SECONDS)

    async def _was_taken(self, flight: Flight, epoch: int) -> bool:
        async with self._gateway.slot.work("a direct prompt"):
            self._gateway.changed()
            if self._gateway.epoch() != epoch:
                raise PromptFailed("the agent was replaced before the prompt's turn came")
            try:
                await self._in_flight.give(flight)
            except AgentBusy as error:
                self._gateway.log.info("direct prompt waits", extra={"reason": str(error)})
                return False
        return True
