"""How a TUI stands: looked at when it changes, and never when nothing does."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from posthouse.agent import tui_observation
from posthouse.agent.adapter import AgentGone, Eligibility, Standing
from posthouse.agent.evidence_sources import Witnesses
from posthouse.agent.session_connection import Link
from posthouse.errors import Unavailable
from posthouse.sessions.session import Session
from posthouse.support import processes
from posthouse.support.supervision import Supervisor
from posthouse.terminal import buffers, dead_panes, process_exit
from posthouse.terminal import session as terminal
from posthouse.terminal.control import ControlClient
from posthouse.terminal.pane import Pane
from posthouse.terminal.pane_activity import PaneFollower
from posthouse.terminal.screen import Screen, Surface
from posthouse.tools.tool import Tool
from posthouse.tracking.observation import Sight

#: tmux learns of a program's end a little after the kernel.
_DEATH_LAG_SECONDS = 0.05
_DEATH_LOOKS = 40
#: A session without window 0 can't be watched, only looked at.
_NO_PANE_SECONDS = 5.0
#: Between looks at a pane that has no program yet.
_STARTING_SECONDS = 0.25


class TuiWatch:
    """What was last seen of one TUI, kept true while its session lives."""

    def __init__(self, session: Session, tool: Tool, background: Supervisor | None = None) -> None:
        self.link = Link(session, output=True, background=background)
        self.standing = gone("nobody has looked yet")
        self.sight: Sight | None = None
        #: The pane that runs the program now; None while none does.
        self.pane: Pane | None = None
        self._tool = tool
        self._version = session.manifest.tool_version
        self._witnesses: Witnesses | None = None
        self._names: tuple[str, ...] = ()
        #: Looks come one after the other, so that an old one never covers a new one.
        self._looking = asyncio.Lock()
        self._follower: PaneFollower | None = None
        self._due = asyncio.Event()
        self._on_change: Callable[[], None] = lambda: None

    async def open(self, on_change: Callable[[], None]) -> None:
        """Begin to watch; *on_change* hears of everything that means something new."""
        self._on_change = on_change
        await self.look()
        self.link.keep(self._follow, self._lost)

    async def look(self) -> Standing:
        """Look at everything now, transcript and hooks included."""
        await self.link.attach_now()
        if self._witnesses is not None:
            await self._witnesses.refresh()
        await self._see()
        return self.standing

    async def close(self) -> None:
        await self.link.close()
        if self._witnesses is not None:
            self._witnesses.close()

    async def _follow(self, client: ControlClient) -> None:
        """Keep the standing true until cancelled, which is when the session ends."""
        await buffers.sweep(client, lock_path=self.link.session.pane_lock)
        while True:
            pane = await self._see()
            if pane is None:
                await asyncio.sleep(_NO_PANE_SECONDS)
            elif pane.dead:
                await self._collect_exit_status(client, pane)
                await self._keep_looking(client, pane)
            else:
                await first_of(self._keep_looking(client, pane), self._program_ended(pane))

    async def _collect_exit_status(self, client: ControlClient, pane: Pane) -> None:
        """Have tmux find out how the program ended, if it does not know: only then its hook runs."""
        if dead_panes.lacks_exit_status(pane):
            await client.command(*dead_panes.COLLECT_EXIT_STATUSES)
            self._due.set()

    async def _keep_looking(self, client: ControlClient, pane: Pane) -> None:
        """Look whenever the pane is worth it; return when another program, or none, is in it."""
        follower = PaneFollower(client, pane.pane_id, self._due.set)
        self._follower = follower
        try:
            while True:
                await self._due.wait()
                self._due.clear()
                now = await self._see(pane)
                if now is None or (now.pane_id, now.pid, now.dead) != (pane.pane_id, pane.pid, pane.dead):
                    return
        finally:
            self._follower = None
            follower.close()

    async def _see(self, before: Pane | None = None) -> Pane | None:
        """Look at the pane and say so if something changed; the pane, or None when there is none.

        Where the agent's pane was *before* is asked first, which spares a question.
        """
        async with self._looking:
            found = None if before is None else await self._still(before)
            pane, screen = found or (await self.link.agent_pane(), None)
            standing, seen = await self._look_at(pane, screen)
            self.pane = pane if standing.connectivity == "connected" else None
            self._stand(standing, seen)
            return pane

    async def _still(self, before: Pane) -> tuple[Pane, Screen] | None:
        """The pane that was the agent's, with its screen; None when another may be by now."""
        try:
            pane, screen = await self._client().look(before.pane_id)
        except Unavailable:
            return None
        is_same = (pane.pane_id, pane.window_id, pane.window_index) == (
            before.pane_id,
            before.window_id,
            before.window_index,
        )
        return (pane, screen) if is_same else None

    async def _look_at(self, pane: Pane | None, screen: Screen | None) -> tuple[Standing, Sight]:
        if pane is None:
            is_attached = self.link.client is not None
            return gone(self.link.reason), tui_observation.of_nothing(
                self.link.reason, is_attached=is_attached
            )
        if pane.dead:
            detail = f"its program ended{pane.ending}"
            return gone(detail), tui_observation.of_dead(pane, detail)
        if terminal.is_waiting(pane):
            # Whoever launches it has not come so far; nobody may take the empty place for the agent.
            asyncio.get_running_loop().call_later(_STARTING_SECONDS, self._due.set)
            detail = "its program is being started"
            return gone(detail), tui_observation.of_nothing(detail, is_attached=True)
        instance_id = instance_of(pane)
        if instance_id is None:
            return gone("its program is ending"), tui_observation.of_dead(pane, "its program is ending")
        return await self._look_at_program(pane, screen, instance_id)

    async def _look_at_program(
        self, pane: Pane, screen: Screen | None, instance_id: str
    ) -> tuple[Standing, Sight]:
        is_same = instance_id == self.standing.instance_id
        if not is_same:
            await self._begin(pane)
        elif self._witnesses is not None and not self._witnesses.is_watching:
            await self._witnesses.refresh()
        try:
            screen = screen or await self._client().capture(pane.pane_id)
        except Unavailable as error:
            return gone(str(error)), tui_observation.of_nothing(str(error), is_attached=True)
        is_known = self.standing.is_known if is_same else await self._is_named(pane)
        surface = self._tool.read_surface(screen, self._version)
        standing = Standing(
            connectivity="connected",
            eligibility=eligibility_of(surface),
            instance_id=instance_id,
            is_known=is_known,
        )
        return standing, self._with_witnesses(tui_observation.of_screen(pane, screen, surface, self._names))

    def _client(self) -> ControlClient:
        """The client while it is attached.

        Raises:
            Unavailable: It is not any more.
        """
        if self.link.client is None:
            raise AgentGone(self.link.reason)
        return self.link.client

    async def _begin(self, pane: Pane) -> None:
        """Another program is in the pane: whatever hooks and transcript said is about the old one."""
        if self._witnesses is not None:
            self._witnesses.close()
        self._witnesses = Witnesses(self._tool, self.link.session, self._due.set, self.link.background)
        self._names = _matching(self._tool.name, await asyncio.to_thread(processes.names_below, pane.pid))
        if (process := processes.identify(pane.pid)) is not None:
            await self._witnesses.begin(processes.started_at(process))

    async def _is_named(self, pane: Pane) -> bool:
        return await self.link.is_named(lambda made: made.manifest.runtime.agent_pid == pane.pid)

    def _with_witnesses(self, seen: Sight) -> Sight:
        output_at = self._follower.output_at if self._follower is not None else None
        if self._witnesses is None:
            return replace(seen, output_at=output_at)
        told = self._witnesses.told
        return replace(
            seen,
            output_at=output_at,
            heard=told.heard,
            ended=told.ended,
            running_since_utc=told.running_since_utc,
        )

    async def _program_ended(self, pane: Pane) -> None:
        """Return when the pane's program has ended and tmux knows it, or another has taken its place."""
        await process_exit.ended(pane.pid)
        for _ in range(_DEATH_LOOKS):
            now = await self.link.agent_pane()
            if now is None or now.dead or now.pid != pane.pid:
                return
            await asyncio.sleep(_DEATH_LAG_SECONDS)

    def _lost(self) -> None:
        self.pane = None
        self._stand(gone(self.link.reason), tui_observation.of_nothing(self.link.reason, is_attached=False))

    def _stand(self, standing: Standing, seen: Sight) -> None:
        is_news = standing != self.standing or not seen.says_the_same_as(self.sight)
        self.standing, self.sight = standing, seen
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


def _matching(tool: str, names: list[str]) -> tuple[str, ...]:
    """Those of *names* that are the tool's: `claude`, `claude-code`, `codex.js`."""
    return tuple(name for name in names if name.casefold().split(".")[0].split("-")[0] == tool)


async def first_of(*waits: Coroutine[Any, Any, None]) -> None:
    """Return when one of *waits* has ended; the others are given up. Raises what it died with."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


def gone(detail: str) -> Standing:
    """An agent that is not there, and why."""
    return Standing(connectivity="unavailable", eligibility="unknown", detail=detail)
