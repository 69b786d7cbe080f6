"""A TUI in its pane: prompts are typed, and each submission is confirmed."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from posthouse import tools
from posthouse.errors import Unavailable
from posthouse.gateway.adapter import (
    AgentBusy,
    AgentGone,
    Eligibility,
    Prompt,
    PromptFailed,
    RunningTurn,
    Standing,
)
from posthouse.gateway.adapters import acknowledgement, sight
from posthouse.gateway.adapters.link import Link
from posthouse.sessions.session import Session
from posthouse.support import locks, processes
from posthouse.terminal import death
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import Patience, Typist
from posthouse.terminal.keys import Key, Literal_
from posthouse.terminal.pane import Pane
from posthouse.terminal.paste import pasteable
from posthouse.terminal.screen import Screen, Surface
from posthouse.terminal.watching import PaneWatch
from posthouse.tools.tool import Tool
from posthouse.tracking.sight import Sight, meaning_of

#: tmux learns of a program's end a little after the kernel.
_DEATH_LAG_SECONDS = 0.05
_DEATH_LOOKS = 40
#: A TUI shows its turn a moment after it took the prompt.
_TURN_SHOWS_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 0.1
#: A session without window 0 can't be watched, only looked at.
_NO_PANE_SECONDS = 5.0
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

    def __init__(self, session: Session) -> None:
        self._link = Link(session, output=True)
        self._tool: Tool = tools.load(session.manifest.tool)
        self._typist: Typist | None = None
        self._standing = _gone("nobody has looked yet")
        self._sight: Sight | None = None
        #: Looks come one after the other, so that an old one never covers a new one.
        self._looking = asyncio.Lock()
        self._on_change: Callable[[], None] = lambda: None
        #: The loop's time until which a turn may begin that the screen does not show yet.
        self._turn_expected_until = 0.0

    @property
    def standing(self) -> Standing:
        return self._standing

    @property
    def sight(self) -> Sight | None:
        return self._sight

    async def open(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        await self.look()
        self._link.keep(self._follow, self._lost)

    async def look(self) -> Standing:
        await self._link.attach_now()
        await self._see()
        return self._standing

    async def wait_ready(self) -> None:
        typist = self._present()
        try:
            surface = await typist.wait_ready(None)
        except Unavailable as error:
            raise AgentGone(str(error)) from error
        if surface.state == "exited":
            raise AgentGone("its program ended")

    async def carry_out(self, prompt: Prompt, *, while_busy: bool = False) -> None:
        if prompt.chat_mode is not None:
            raise PromptFailed("chat_session is for headless agents; this one is a TUI")
        typist = self._present()
        await self._require_program(prompt.instance_id or self._standing.instance_id)
        self._turn_expected_until = float("inf")
        try:
            acknowledged = self._acknowledgement(prompt.text)
            with acknowledgement.told_at_once(self._link.session, typist.nudge):
                delivery = await typist.submit(prompt.text, acknowledged=acknowledged, while_busy=while_busy)
        finally:
            self._turn_expected_until = asyncio.get_running_loop().time() + _TURN_SHOWS_SECONDS
        if delivery.outcome == "refused":
            raise AgentBusy(f"nothing was typed: {delivery.reason}")
        if delivery.outcome == "unknown":
            raise PromptFailed(
                f"the prompt was typed, but nothing proves that the agent took it: {delivery.reason}"
            )

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

    async def end_of(self, turn_id: str) -> str | None:
        """A TUI has no turns of ours that could be left behind."""
        return None

    async def close(self) -> None:
        await self._link.close()

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
        if self._typist is None or self._standing.connectivity == "unavailable":
            raise AgentGone(self._standing.detail)
        return self._typist

    def _acknowledgement(self, prompt: str) -> Callable[[], bool]:
        typed = pasteable(self._tool.guard(prompt))
        if typed.startswith("/"):
            # A command, for `guard` hides every other slash: no transcript tells of it, so the emptied
            # composer has to do.
            return lambda: True
        return acknowledgement.of_prompt(self._tool, self._link.session, typed)

    async def _follow(self, client: ControlClient) -> None:
        """Keep the standing true until cancelled, which is when the session ends."""
        while True:
            pane = await self._see()
            if pane is None:
                await asyncio.sleep(_NO_PANE_SECONDS)
            elif pane.dead:
                await self._until_changed(client, pane)
            else:
                await first_of(self._until_changed(client, pane), self._program_ended(pane))

    async def _until_changed(self, client: ControlClient, pane: Pane) -> None:
        """Return when the screen means something else than it did."""
        seen = None if self._sight is None else self._sight.surface
        before = None if seen is None else meaning_of(seen)

        def judge(screen: Screen, surface: Surface) -> Surface | None:
            return surface if screen.dead != pane.dead or meaning_of(surface) != before else None

        try:
            await PaneWatch(client, pane.pane_id, self._tool.read_surface).until(judge, seconds=None)
        except Unavailable:
            return  # the next look tells what is wrong

    async def _see(self) -> Pane | None:
        """Look at the pane and say so if something changed; the pane, or None when there is none."""
        async with self._looking:
            pane = await self._link.agent_pane()
            self._stand(*await self._look_at(pane))
            return pane

    async def _look_at(self, pane: Pane | None) -> tuple[Standing, Sight]:
        if pane is None:
            is_attached = self._link.client is not None
            return _gone(self._link.reason), sight.of_nothing(self._link.reason, is_attached=is_attached)
        if pane.dead:
            detail = f"its program ended{_how(pane)}"
            return _gone(detail), sight.of_dead(pane, detail)
        instance_id = instance_of(pane)
        if instance_id is None:
            return _gone("its program is ending"), sight.of_dead(pane, "its program is ending")
        return await self._look_at_program(pane, instance_id)

    async def _look_at_program(self, pane: Pane, instance_id: str) -> tuple[Standing, Sight]:
        assert self._link.client is not None
        self._typist = Typist(
            self._link.client, pane.pane_id, self._tool, lock_path=self._link.session.pane_lock
        )
        if instance_id == self._standing.instance_id:
            is_known = self._standing.is_known
        else:
            is_known = await self._link.is_named(lambda made: made.manifest.runtime.agent_pid == pane.pid)
        try:
            screen = await self._typist.screen()
        except Unavailable as error:
            return _gone(str(error)), sight.of_nothing(str(error), is_attached=True)
        surface = self._tool.read_surface(screen)
        standing = Standing(
            connectivity="connected",
            eligibility=eligibility_of(surface),
            instance_id=instance_id,
            is_known=is_known,
        )
        return standing, await sight.of_screen(self._tool, self._link.session, pane, screen, surface)

    async def _program_ended(self, pane: Pane) -> None:
        """Return when the pane's program has ended and tmux knows it, or another has taken its place."""
        await death.ended(pane.pid)
        for _ in range(_DEATH_LOOKS):
            now = await self._link.agent_pane()
            if now is None or now.dead or now.pid != pane.pid:
                return
            await asyncio.sleep(_DEATH_LAG_SECONDS)

    def _lost(self) -> None:
        self._typist = None
        self._stand(_gone(self._link.reason), sight.of_nothing(self._link.reason, is_attached=False))

    def _stand(self, standing: Standing, seen: Sight) -> None:
        is_news = standing != self._standing or not seen.says_the_same_as(self._sight)
        self._standing, self._sight = standing, seen
        if is_news:
            self._on_change()


def eligibility_of(surface: Surface) -> Eligibility:
    """What a surface means for somebody who wants to send a prompt."""
    if surface.state in ("unknown", "exited"):
        return "unknown"
    return "ready" if surface.state == "ready" else "not_ready"


def instance_of(pane: Pane) -> str | None:
    """The program in *pane*, told apart from any other before or after it; None when it is gone."""
    process = processes.identify(pane.pid)
    if process is None:
        return None
    return f"{processes.boot_id()}:{pane.pane_id}:{process.pid}:{process.start_ticks}"


async def first_of(*waits: Coroutine[Any, Any, None]) -> None:
    """Return when one of *waits* has ended; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _gone(detail: str) -> Standing:
    return Standing(connectivity="unavailable", eligibility="unknown", detail=detail)


def _how(pane: Pane) -> str:
    if pane.dead_signal is not None:
        return f" by signal {pane.dead_signal}"
    return "" if pane.dead_status is None else f" with exit code {pane.dead_status}"
