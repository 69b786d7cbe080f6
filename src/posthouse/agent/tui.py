"""A TUI in its pane: prompts are typed, and each submission is confirmed."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from posthouse import tools
from posthouse.agent import acknowledgement
from posthouse.agent.adapter import (
    AgentBusy,
    AgentGone,
    Ending,
    Prompt,
    PromptFailed,
    RunningTurn,
    Standing,
    Step,
    Tell,
    Unproven,
    unheard,
)
from posthouse.agent.tui_watch import TuiWatch, instance_of
from posthouse.errors import Unavailable
from posthouse.sessions.session import Session
from posthouse.support import locks
from posthouse.support.supervision import Supervisor
from posthouse.terminal.delivery import Patience, Typist
from posthouse.terminal.keys import Key, Literal_
from posthouse.terminal.paste import pasteable
from posthouse.terminal.screen_wait import PaneWatch
from posthouse.tools.tool import Exchange, Tool
from posthouse.tracking.observation import Sight

#: A TUI shows its turn a moment after it took the prompt.
_TURN_SHOWS_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 0.1
#: Somebody who presses keys does not wait longer for another program's paste.
_KEYS_PATIENCE = Patience(lock=2.0)


class _TuiTurn:
    """What a TUI works on."""

    turn_id: str | None = None

    def __init__(self, typist: Typist) -> None:
        self._typist = typist

    async def interrupt(self) -> bool:
        return await self._typist.interrupt()


class TuiAdapter:
    """One TUI."""

    is_headless = False

    def __init__(self, session: Session, background: Supervisor | None = None) -> None:
        self._tool: Tool = tools.load(session.manifest.tool)
        self._watch = TuiWatch(session, self._tool, background)
        self._link = self._watch.link
        #: The loop's time until which a turn may begin that the screen does not show yet.
        self._turn_expected_until = 0.0

    @property
    def standing(self) -> Standing:
        return self._watch.standing

    @property
    def sight(self) -> Sight | None:
        return self._watch.sight

    async def open(self, on_change: Callable[[], None]) -> None:
        await self._watch.open(on_change)

    async def look(self) -> Standing:
        return await self._watch.look()

    async def wait_ready(self) -> None:
        typist = self._present()
        try:
            surface = await typist.wait_ready(None)
        except Unavailable as error:
            raise AgentGone(str(error)) from error
        if surface.state == "exited":
            raise AgentGone("its program ended")

    async def carry_out(self, prompt: Prompt, *, while_busy: bool = False, tell: Tell = unheard) -> None:
        if prompt.chat_mode is not None:
            raise PromptFailed("chat_session is for headless agents; this one is a TUI")
        typist = self._present()
        await self._require_program(prompt.instance_id or self.standing.instance_id)
        self._turn_expected_until = float("inf")
        try:
            proof = await asyncio.to_thread(self._proof, prompt.text)
            with acknowledgement.told_at_once(self._link.session, typist.nudge):
                delivery = await typist.submit(
                    prompt.text,
                    acknowledged=proof.is_there,
                    while_busy=while_busy,
                    on_typed=lambda: tell(Step(stage="typed", evidence={"source": "terminal"})),
                )
        finally:
            self._turn_expected_until = asyncio.get_running_loop().time() + _TURN_SHOWS_SECONDS
        if delivery.outcome == "refused":
            raise AgentBusy(f"nothing was typed: {delivery.reason}")
        if delivery.outcome == "unknown":
            raise Unproven(
                f"the prompt was typed, but nothing proves that the agent took it: {delivery.reason}"
            )
        signs = {"source": "screen", "signs": list(delivery.evidence)}
        tell(Step(stage="submitted", evidence=signs))
        if proof.evidence is not None:
            tell(Step(stage="acknowledged", evidence=proof.evidence))
        if proof.is_command:
            tell(Ending(outcome="completed", evidence=signs))

    async def press(self, parts: Sequence[Literal_ | Key]) -> None:
        self._present()
        pane = await self._link.agent_pane()
        if pane is None or self._link.client is None:
            raise AgentGone(self._link.reason)
        lock_path = self._link.session.pane_lock
        hands = Typist(
            self._link.client, pane.pane_id, self._tool, lock_path=lock_path, patience=_KEYS_PATIENCE
        )
        try:
            await hands.press(parts)
        except locks.LockHeld as held:
            raise AgentBusy(
                f"process {held.holder} is typing into this agent; try again in a moment"
            ) from held

    async def running_turn(self) -> RunningTurn | None:
        try:
            typist = self._present()
            is_active = (await typist.surface()).is_working or await self._starts_turn()
        except Unavailable:
            return None
        return _TuiTurn(typist) if is_active else None

    async def end_of(self, turn_id: str) -> Ending | None:
        """A TUI has no turns of ours that could be left behind."""
        return None

    async def exchanges(self) -> Sequence[Exchange]:
        manifest = self._link.session.manifest
        home = Path(manifest.launch_plan.home_selector.home_path)
        return await asyncio.to_thread(self._tool.exchanges, home, Path(manifest.working_directory))

    async def close(self) -> None:
        await self._watch.close()

    async def _starts_turn(self) -> bool:
        """Whether a prompt that is being typed, or just was, turns into a turn on the screen now."""
        if asyncio.get_running_loop().time() > self._turn_expected_until:
            return False
        pane = await self._link.agent_pane()
        if pane is None or self._link.client is None:
            return False
        watch = PaneWatch(self._link.client, pane.pane_id, self._tool.read_surface)
        active = await watch.until(
            lambda _, surface: surface if surface.is_working else None,
            seconds=_TURN_SHOWS_SECONDS,
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )
        return active is not None

    async def _require_program(self, instance_id: str | None) -> None:
        """Return while the pane runs that very program: a new one takes a moment to be noticed, and must not
        be given what was meant for the old one."""
        pane = await self._link.agent_pane()
        if pane is None or pane.dead or instance_of(pane) != instance_id:
            raise AgentBusy("nothing was typed: another program has just taken the agent's place")

    def _present(self) -> Typist:
        client, pane = self._link.client, self._watch.pane
        if client is None or pane is None or self.standing.connectivity == "unavailable":
            raise AgentGone(self.standing.detail)
        return Typist(client, pane.pane_id, self._tool, lock_path=self._link.session.pane_lock)

    def _proof(self, prompt: str) -> acknowledgement.Proof:
        typed = pasteable(self._tool.guard(prompt))
        if typed.startswith("/"):
            # A command, for `guard` hides every other slash: no transcript tells of it, so the emptied
            # composer has to do.
            return acknowledgement.Assumed()
        return acknowledgement.Told(self._tool, self._link.session, typed)
