"""Finds the end of TUI prompts in the agent's own transcript.

The transcript is read when the agent's state changes, and for a while after the agent became idle; not while
it works, and never without an open prompt.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime

from posthouse.agent.acknowledgement import transcript_evidence
from posthouse.agent.adapter import AgentAdapter, PromptResult
from posthouse.gateway.receipts import matching
from posthouse.gateway.receipts.ledger import Ledger
from posthouse.gateway.receipts.matching import Expected
from posthouse.queue import Receipt
from posthouse.support import clock
from posthouse.tools.tool import Exchange

#: The transcript may be written a little after the screen shows the end.
_POLL_SECONDS = 0.5
#: An agent that has been idle this long will not write a missing end to its transcript.
_GIVE_UP_SECONDS = 10.0
#: More prompts than any TUI queues; the oldest is dropped.
_MAX_FOLLOWED = 200
_IDLE_STATES = ("ready", "draft")

_NO_ENDING = "the agent is idle, and its transcript has no end of this prompt"
_AGENT_GONE = "the agent's program ended before its transcript had an end of this prompt"


class TranscriptFollower:
    """The prompts of one TUI that have no recorded end yet."""

    def __init__(self, adapter: AgentAdapter, ledger: Ledger, log: logging.Logger) -> None:
        self._adapter = adapter
        self._ledger = ledger
        self._log = log
        self._expected: dict[str, Expected] = {}
        self._changed = asyncio.Event()
        #: Loop time since which the agent is idle; None while it is not.
        self._idle_since: float | None = None

    def resume(self, receipts: list[Receipt]) -> None:
        """Follow prompts that an earlier gateway delivered."""
        for receipt in receipts:
            started, text = receipt.stage("started"), receipt.payload.get("prompt")
            if started is not None and isinstance(text, str):
                self._track(receipt.request_id, text, clock.parse(started.at_utc))

    def expect(self, request_id: str, prompt: str, since: datetime) -> None:
        """Follow a prompt that was just typed."""
        self._track(request_id, prompt, since)
        self._idle_since = None
        self._changed.set()

    def acknowledged(self, request_id: str) -> None:
        """Note that another signal showed the agent has the prompt."""
        if (one := self._expected.get(request_id)) is not None:
            self._expected[request_id] = replace(one, is_acknowledged=True)

    def forget(self, request_id: str) -> None:
        """Stop following a prompt whose end is known."""
        self._expected.pop(request_id, None)

    def schedule_read(self) -> None:
        """Read the transcript soon: the agent's state changed."""
        self._changed.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await self._wait_until_due()
            self._changed.clear()
            if self._expected:
                await self._read_transcript()

    def _track(self, request_id: str, prompt: str, since: datetime) -> None:
        self._expected[request_id] = Expected(
            request_id=request_id,
            prompt=prompt,
            since=since,
            instance_id=self._adapter.status.instance_id,
        )
        for oldest in list(self._expected)[:-_MAX_FOLLOWED]:
            del self._expected[oldest]

    async def _wait_until_due(self) -> None:
        try:
            async with asyncio.timeout(_POLL_SECONDS if self._is_due() else None):
                await self._changed.wait()
        except TimeoutError:
            return

    def _is_due(self) -> bool:
        """Whether the transcript may grow soon although the screen does not change."""
        open_ones = [one for one in self._expected.values() if not one.is_given_up]
        return any(self._is_idle() or not one.is_acknowledged for one in open_ones)

    async def _read_transcript(self) -> None:
        """Apply the transcript's exchanges to the open prompts; give up prompts that get no end."""
        has_settled = self._has_settled()
        try:
            found = matching.match(list(self._expected.values()), await self._adapter.exchanges())
        except OSError as error:
            self._log.warning("agent transcript unreadable", extra={"error": str(error)})
            found = {}
        for request_id, exchange in found.items():
            self._apply(self._expected[request_id], exchange)
        present = self._adapter.status.instance_id
        for one in list(self._expected.values()):
            if one.instance_id != present:
                del self._expected[one.request_id]
                self._give_up(one, _AGENT_GONE)
            elif has_settled and not one.is_given_up:
                # A later prompt may still complete this one's exchange, so it stays tracked.
                self._expected[one.request_id] = replace(one, is_given_up=True)
                self._give_up(one, _NO_ENDING)

    def _apply(self, one: Expected, exchange: Exchange) -> None:
        if not one.is_acknowledged:
            self._expected[one.request_id] = replace(one, is_acknowledged=True)
            evidence = {"evidence": transcript_evidence(exchange)}
            self._ledger.record(one.request_id, "acknowledged", evidence)
        if (ending := matching.ending_of(exchange)) is not None:
            del self._expected[one.request_id]
            self._ledger.record_end(one.request_id, ending)

    def _give_up(self, one: Expected, reason: str) -> None:
        self._ledger.record_end(one.request_id, PromptResult(outcome="unknown", error=reason))

    def _is_idle(self) -> bool:
        observation = self._adapter.observation
        return (
            observation is not None
            and observation.surface is not None
            and observation.surface.state in _IDLE_STATES
        )

    def _has_settled(self) -> bool:
        """Whether the agent has been idle long enough for its transcript to be complete."""
        now = asyncio.get_running_loop().time()
        if not self._is_idle():
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or now
        return now - self._idle_since >= _GIVE_UP_SECONDS
