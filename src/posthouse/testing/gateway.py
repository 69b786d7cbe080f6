"""Stand-ins for a gateway's surroundings: an agent that obeys its test, and a caller without a network."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Scope

from posthouse.agent.adapter import (
    AgentBusy,
    AgentGone,
    AgentStatus,
    OnProgress,
    Prompt,
    PromptFailed,
    PromptProgress,
    PromptResult,
    RunningTurn,
    ignore_progress,
    no_raw_input,
)
from posthouse.support import clock
from posthouse.terminal.keys import Key, LiteralText
from posthouse.terminal.screen import Surface, SurfaceState
from posthouse.tools.tool import Exchange, TurnSignal
from posthouse.tracking.observation import EndedTurn, HookReport, Observation

Outcome = Literal["success", "interrupted", "error"]
_TEST = {"source": "test"}
_STEPS_HEADLESS = (
    PromptProgress(stage="submitted", evidence=_TEST),
    PromptProgress(stage="acknowledged", evidence=_TEST),
)
_STEPS_TYPED = (
    PromptProgress(stage="typed", evidence=_TEST),
    PromptProgress(stage="submitted", evidence=_TEST),
    PromptProgress(stage="acknowledged", evidence=_TEST),
)


class FakeAgent:
    """An agent in memory. It takes prompts at once, unless the test holds it."""

    def __init__(self, *, is_headless: bool = True) -> None:
        self._is_headless = is_headless
        self._standing = AgentStatus(connectivity="unavailable", eligibility="unknown", detail="not started")
        self._sight: Observation | None = None
        self._on_change: Callable[[], None] = lambda: None
        self._is_ready = asyncio.Event()
        self._is_ready.set()
        self._is_held = False
        self._works_on = False
        #: Whether a TUI's transcript has the end of a turn as soon as its beginning.
        self.ends_by_itself = False
        self._turn: _FakeTurn | None = None
        #: Every prompt that reached it, in order.
        self.received: list[Prompt] = []
        #: For each of them, whether it was allowed into a working agent's own queue.
        self.received_while_busy: list[bool] = []
        #: Every sequence of raw keys that reached it.
        self.pressed: list[tuple[LiteralText | Key, ...]] = []
        #: What raw keys do to its screen.
        self.on_press: Callable[[], None] = lambda: None
        #: A TUI's own record of its conversation.
        self.transcript: list[Exchange] = []
        #: What a headless turn ends with.
        self.answer: str | None = "done"
        self.usage: Mapping[str, Any] | None = None
        #: What the next prompt, or the next keys, end with.
        self.failure: Exception | None = None
        #: Turns that an earlier gateway began, and how they will end.
        self.left_turns: dict[str, Literal["completed", "failed", "interrupted"]] = {}
        self._left_ended = asyncio.Event()
        #: How often somebody began to wait for it, and how often that waiting ended.
        self.waits_begun = 0
        self.waits_ended = 0

    @property
    def is_headless(self) -> bool:
        return self._is_headless

    @property
    def status(self) -> AgentStatus:
        return self._standing

    @property
    def observation(self) -> Observation | None:
        return self._sight

    def appear(self, instance_id: str = "one", *, is_known: bool = True) -> None:
        """Be there, as that instance; a TUI shows an empty composer."""
        self._sight = None if self._is_headless else _shown("ready")
        self._stand(
            AgentStatus(
                connectivity="connected", eligibility="ready", instance_id=instance_id, is_known=is_known
            )
        )

    def show(
        self,
        state: SurfaceState,
        *,
        composer: str | None = "",
        dialog: str | None = None,
        ended: EndedTurn | None = None,
        **more: Any,
    ) -> None:
        """Show that on the screen, as a TUI; *more* are other fields of a surface."""
        self._sight = _shown(state, composer=composer, dialog=dialog, ended=ended, **more)
        self._on_change()

    def hear(self, meaning: TurnSignal, at: datetime) -> None:
        """Let a hook report in, as a TUI."""
        assert self._sight is not None
        self._sight = replace(self._sight, hook_report=HookReport(meaning=meaning, at=at))
        self._on_change()

    def vanish(self, detail: str = "it ended") -> None:
        self._sight = None if self._is_headless else Observation(reach="program_ended", detail=detail)
        self._stand(AgentStatus(connectivity="unavailable", eligibility="unknown", detail=detail))

    def be_busy(self) -> None:
        """Take no prompt until `be_ready`."""
        self._is_ready.clear()

    def be_ready(self) -> None:
        self._is_ready.set()

    def hold(self) -> None:
        """Keep turns from ending until `let_go`, or until they are interrupted."""
        self._is_held = True

    def work_on(self) -> None:
        """Take prompts as an agent does whose turns go on until they are interrupted."""
        if self._is_headless:
            self.hold()
        else:
            self._works_on = True

    def let_go(self) -> None:
        self._is_held = False
        if self._turn is not None:
            self._turn.end()

    async def open(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    async def refresh(self) -> AgentStatus:
        return self._standing

    async def wait_ready(self) -> None:
        self.waits_begun += 1
        await self._is_ready.wait()
        self.waits_ended += 1
        if self._standing.connectivity == "unavailable":
            raise AgentGone(self._standing.detail)

    async def execute(
        self, prompt: Prompt, *, while_busy: bool = False, on_progress: OnProgress = ignore_progress
    ) -> None:
        self._require(prompt)
        self.received.append(prompt)
        self.received_while_busy.append(while_busy)
        if isinstance(self.failure, AgentBusy):
            self._fail_if_told()
        for step in self._steps():
            on_progress(step)
        if not self._is_headless and self.failure is None:
            self._take(prompt)
        if self._is_held:
            await self._last()
        if self._is_headless:
            on_progress(self._ending())
        self._fail_if_told()

    def _require(self, prompt: Prompt) -> None:
        if self._standing.connectivity == "unavailable":
            raise AgentGone(self._standing.detail)
        if prompt.instance_id not in (None, self._standing.instance_id):
            raise AgentBusy("another instance has taken its place")

    def _take(self, prompt: Prompt) -> None:
        """Write a TUI's prompt into its transcript; its turn ends at once, or goes on until it is stopped."""
        outcome: Outcome | None = "success" if self.ends_by_itself else None
        answer = self.answer if self.ends_by_itself else None
        self.transcript.append(
            Exchange(prompt=prompt.text, submitted_at_utc=_now(), outcome=outcome, answer=answer)
        )
        if self._works_on:
            self._turn = _FakeTurn(prompt.turn_id, on_end=self._forget_turn)

    async def _last(self) -> None:
        """Keep a turn going until somebody ends it; an interrupted headless one has failed."""
        self._turn = turn = _FakeTurn(self.received[-1].turn_id)
        try:
            await turn.ended()
        finally:
            self._turn = None
        if turn.was_interrupted and self._is_headless:
            self.failure = _Interrupted("the turn was interrupted")

    def _forget_turn(self) -> None:
        self._turn = None

    def _steps(self) -> Sequence[PromptProgress]:
        if self._is_headless:
            return _STEPS_HEADLESS
        # What a TUI did not take was typed all the same.
        return _STEPS_TYPED if self.failure is None else _STEPS_TYPED[:1]

    def _ending(self) -> PromptResult:
        if isinstance(self.failure, _Interrupted):
            return PromptResult(outcome="interrupted", evidence=_TEST, error=str(self.failure))
        if self.failure is not None:
            return PromptResult(outcome="failed", evidence=_TEST, error=str(self.failure))
        return PromptResult(outcome="completed", evidence=_TEST, answer=self.answer, usage=self.usage)

    async def send_keys(self, parts: Sequence[LiteralText | Key]) -> None:
        if self._is_headless:
            raise no_raw_input()
        self.pressed.append(tuple(parts))
        self._fail_if_told()
        self.on_press()

    async def running_turn(self) -> RunningTurn | None:
        return self._turn

    async def turn_result(self, turn_id: str) -> PromptResult | None:
        if turn_id not in self.left_turns:
            return None
        await self._left_ended.wait()
        return PromptResult(outcome=self.left_turns[turn_id], evidence=_TEST)

    async def exchanges(self) -> Sequence[Exchange]:
        return tuple(self.transcript)

    def end_turn(self, answer: str = "done", *, outcome: Outcome = "success") -> None:
        """Write the end of the last prompt into the transcript, and show a ready TUI."""
        self.transcript[-1] = replace(self.transcript[-1], answer=answer, outcome=outcome)
        self.show("ready")

    def end_left_turns(self) -> None:
        """Let the turns that an earlier gateway began come to their end."""
        self._left_ended.set()

    async def close(self) -> None:
        self._on_change = lambda: None

    def _fail_if_told(self) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def _stand(self, standing: AgentStatus) -> None:
        self._standing = standing
        self._on_change()


def _now() -> str:
    return clock.iso_micros(clock.now())


def _shown(
    state: SurfaceState,
    *,
    composer: str | None = "",
    dialog: str | None = None,
    ended: EndedTurn | None = None,
    **more: Any,
) -> Observation:
    surface = Surface(state=state, evidence=("the test says so",), composer=composer, dialog=dialog, **more)
    return Observation(
        reach="screen", pane_id="%1", pane_pid=42, surface=surface, text=f"a {state} screen", ended_turn=ended
    )


class _Interrupted(PromptFailed):
    """The turn of a headless agent was interrupted."""


class _FakeTurn:
    """A turn that ends when it is told to."""

    def __init__(self, turn_id: str | None, *, on_end: Callable[[], None] = lambda: None) -> None:
        self.turn_id = turn_id
        self._on_end = on_end
        self._is_over = asyncio.Event()
        self.was_interrupted = False

    def end(self) -> None:
        self._is_over.set()
        self._on_end()

    async def ended(self) -> None:
        await self._is_over.wait()

    async def interrupt(self) -> bool:
        was_running = not self._is_over.is_set()
        self.was_interrupted = was_running
        self.end()
        return was_running


@dataclass(frozen=True, slots=True)
class Answer:
    """What an application answered."""

    status: int
    headers: Mapping[str, str]
    #: Decoded when it is JSON, otherwise its text.
    body: Any


async def call(
    app: ASGIApp,
    method: str,
    path: str,
    body: bytes | Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    client: tuple[str, int] = ("127.0.0.1", 50000),
    keep: Callable[[Answer], None] = lambda _: None,
) -> Answer:
    """Ask *app* as its server would: with a loopback Host, and JSON for a mapping. *path* may have a query.

    *keep* is given the answer even when the application raises after it.
    """
    content = json.dumps(body).encode() if isinstance(body, Mapping) else body or b""
    given = {"host": "127.0.0.1:43123", "content-type": "application/json", **(headers or {})}
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path.partition("?")[0],
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": client,
        "scheme": "http",
    }
    sent: list[Message] = []

    bodies = [content]

    async def receive() -> Message:
        if not bodies:
            await asyncio.Event().wait()  # as a server does, until the caller goes away
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    try:
        await app(scope, receive, send)
    finally:
        if sent:
            keep(_answer(sent))
    return _answer(sent)


def _answer(sent: list[Message]) -> Answer:
    start, *parts = sent
    text = b"".join(part.get("body", b"") for part in parts)
    named = {name.decode(): value.decode() for name, value in start["headers"]}
    is_json = "json" in named.get("content-type", "json")
    return Answer(start["status"], named, json.loads(text) if is_json else text.decode())
