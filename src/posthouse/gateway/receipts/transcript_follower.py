"""Sees the prompts of a TUI to their end, by what the agent's own transcript tells.

Its transcript is read when something about the agent changed, and for a while after it came to rest; not
while it works, and never when nobody's prompt is open.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime

from posthouse.agent.acknowledgement import transcript_evidence
from posthouse.agent.adapter import AgentAdapter, Ending
from posthouse.gateway.receipts import matching
from posthouse.gateway.receipts.ledger import Ledger
from posthouse.gateway.receipts.matching import Expected
from posthouse.queue import Receipt
from posthouse.support import clock
from posthouse.tools.tool import Exchange

#: A transcript's last word may come a little after the screen shows the end.
_LOOK_AGAIN_SECONDS = 0.5
#: An agent that has been at rest so long, and whose transcript has no end of a prompt, will not write one.
_PATIENCE_SECONDS = 10.0
#: More at a time than any TUI queues; the oldest is given up.
_MAX_FOLLOWED = 200
_AT_REST = ("ready", "draft")

_NOT_TOLD = "the agent is at rest, and its transcript does not tell how this ended"
_AGENT_GONE = "the agent's program ended before its transcript told how this ended"


class Follower:
    """The prompts of one TUI whose end was not seen yet."""

    def __init__(self, adapter: AgentAdapter, ledger: Ledger, log: logging.Logger) -> None:
        self._adapter = adapter
        self._ledger = ledger
        self._log = log
        self._expected: dict[str, Expected] = {}
        self._changed = asyncio.Event()
        #: The loop's time since which the agent is at rest; None while it is not.
        self._rests_since: float | None = None

    def resume(self, receipts: list[Receipt]) -> None:
        """Look after prompts that an earlier gateway gave the agent."""
        for receipt in receipts:
            started, text = receipt.stage("started"), receipt.payload.get("prompt")
            if started is not None and isinstance(text, str):
                self._keep(receipt.request_id, text, clock.parse(started.at_utc))

    def expect(self, request_id: str, prompt: str, since: datetime) -> None:
        """Look after a prompt that was just typed."""
        self._keep(request_id, prompt, since)
        self._rests_since = None
        self._changed.set()

    def acknowledged(self, request_id: str) -> None:
        """The agent said by another way that it has the prompt."""
        if (one := self._expected.get(request_id)) is not None:
            self._expected[request_id] = replace(one, is_acknowledged=True)

    def forget(self, request_id: str) -> None:
        """Its end is known."""
        self._expected.pop(request_id, None)

    def look_soon(self) -> None:
        """Something about the agent changed."""
        self._changed.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await self._until_worth_a_look()
            self._changed.clear()
            if self._expected:
                await self._look()

    def _keep(self, request_id: str, prompt: str, since: datetime) -> None:
        self._expected[request_id] = Expected(
            request_id=request_id,
            prompt=prompt,
            since=since,
            instance_id=self._adapter.standing.instance_id,
        )
        for oldest in list(self._expected)[:-_MAX_FOLLOWED]:
            del self._expected[oldest]

    async def _until_worth_a_look(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_AGAIN_SECONDS if self._is_due() else None):
                await self._changed.wait()
        except TimeoutError:
            return

    def _is_due(self) -> bool:
        """Whether the transcript may grow soon, though nothing on the screen changes."""
        open_ones = [one for one in self._expected.values() if not one.is_given_up]
        return any(self._is_at_rest() or not one.is_acknowledged for one in open_ones)

    async def _look(self) -> None:
        """Take in what the transcript tells; give up what it will not tell any more."""
        has_rested = self._has_rested()
        try:
            found = matching.match(list(self._expected.values()), await self._adapter.exchanges())
        except OSError as error:
            self._log.warning("the agent's transcript can't be read", extra={"error": str(error)})
            found = {}
        for request_id, exchange in found.items():
            self._take_in(self._expected[request_id], exchange)
        present = self._adapter.standing.instance_id
        for one in list(self._expected.values()):
            if one.instance_id != present:
                del self._expected[one.request_id]
                self._unknown(one, _AGENT_GONE)
            elif has_rested and not one.is_given_up:
                # A later prompt may show how this one ended, so it is still looked for.
                self._expected[one.request_id] = replace(one, is_given_up=True)
                self._unknown(one, _NOT_TOLD)

    def _take_in(self, one: Expected, exchange: Exchange) -> None:
        if not one.is_acknowledged:
            self._expected[one.request_id] = replace(one, is_acknowledged=True)
            evidence = {"evidence": transcript_evidence(exchange)}
            self._ledger.passed(one.request_id, "acknowledged", evidence)
        if (ending := matching.ending_of(exchange)) is not None:
            del self._expected[one.request_id]
            self._ledger.ended(one.request_id, ending)

    def _unknown(self, one: Expected, reason: str) -> None:
        self._ledger.ended(one.request_id, Ending(outcome="unknown", error=reason))

    def _is_at_rest(self) -> bool:
        sight = self._adapter.sight
        return sight is not None and sight.surface is not None and sight.surface.state in _AT_REST

    def _has_rested(self) -> bool:
        """Whether the agent has been at rest for as long as anything takes to be written."""
        now = asyncio.get_running_loop().time()
        if not self._is_at_rest():
            self._rests_since = None
            return False
        self._rests_since = self._rests_since or now
        return now - self._rests_since >= _PATIENCE_SECONDS
