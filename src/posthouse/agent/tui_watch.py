"""Observes a TUI: driven by changes, without polling an unchanged one."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from posthouse.agent import tui_observation
from posthouse.agent.adapter import AgentGone, AgentStatus, Eligibility
from posthouse.agent.evidence_sources import EvidenceSources
from posthouse.agent.session_connection import SessionConnection
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
from posthouse.tracking.observation import Observation

#: tmux reports a program's end slightly later than the kernel.
_EXIT_POLL_SECONDS = 0.05
_EXIT_POLLS = 40
#: Poll interval for a session without window 0, which can't be watched.
_NO_PANE_SECONDS = 5.0
#: Poll interval for a pane whose program is not started yet.
_STARTING_SECONDS = 0.25


class TuiWatch:
    """The current status and observation of one TUI."""

    def __init__(self, session: Session, tool: Tool, background: Supervisor | None = None) -> None:
        self.connection = SessionConnection(session, output=True, background=background)
        self.status = unavailable("not observed yet")
        self.observation: Observation | None = None
        #: The pane that runs the program now; None while none does.
        self.pane: Pane | None = None
        self._tool = tool
        self._version = session.manifest.tool_version
        self._sources: EvidenceSources | None = None
        self._names: tuple[str, ...] = ()
        #: Serialises observations, so that an old one never overwrites a new one.
        self._observe_lock = asyncio.Lock()
        self._follower: PaneFollower | None = None
        self._due = asyncio.Event()
        self._on_change: Callable[[], None] = lambda: None

    async def open(self, on_change: Callable[[], None]) -> None:
        """Start observing; *on_change* is called when status or meaning changes."""
        self._on_change = on_change
        await self.refresh()
        self.connection.keep_attached(self._follow, self._lost)

    async def refresh(self) -> AgentStatus:
        """Observe pane, transcript and hooks now."""
        await self.connection.attach_now()
        if self._sources is not None:
            await self._sources.refresh()
        await self._observe()
        return self.status

    async def close(self) -> None:
        await self.connection.close()
        if self._sources is not None:
            self._sources.close()

    async def _follow(self, client: ControlClient) -> None:
        """Keep the status current until cancelled at the end of the session."""
        await buffers.sweep(client, lock_path=self.connection.session.pane_lock)
        while True:
            pane = await self._observe()
            if pane is None:
                await asyncio.sleep(_NO_PANE_SECONDS)
            elif pane.dead:
                await self._collect_exit_status(client, pane)
                await self._observe_until_replaced(client, pane)
            else:
                await first_of(self._observe_until_replaced(client, pane), self._program_ended(pane))

    async def _collect_exit_status(self, client: ControlClient, pane: Pane) -> None:
        """Make tmux collect a missing exit status; its pane-died hook runs only then."""
        if dead_panes.lacks_exit_status(pane):
            await client.command(*dead_panes.COLLECT_EXIT_STATUSES)
            self._due.set()

    async def _observe_until_replaced(self, client: ControlClient, pane: Pane) -> None:
        """Observe on every pane change; return when the program ended or was replaced."""
        follower = PaneFollower(client, pane.pane_id, self._due.set)
        self._follower = follower
        try:
            while True:
                await self._due.wait()
                self._due.clear()
                now = await self._observe(pane)
                if now is None or (now.pane_id, now.pid, now.dead) != (pane.pane_id, pane.pid, pane.dead):
                    return
        finally:
            self._follower = None
            follower.close()

    async def _observe(self, before: Pane | None = None) -> Pane | None:
        """Observe the pane, notify if something changed, and return the pane or None.

        The pane *before* is tried first, which saves a tmux command.
        """
        async with self._observe_lock:
            found = None if before is None else await self._recapture(before)
            pane, screen = found or (await self.connection.agent_pane(), None)
            status, observation = await self._observe_pane(pane, screen)
            self.pane = pane if status.connectivity == "connected" else None
            self._set_status(status, observation)
            return pane

    async def _recapture(self, before: Pane) -> tuple[Pane, Screen] | None:
        """The same pane with its screen; None when the agent's pane may have changed."""
        try:
            pane, screen = await self._client().inspect(before.pane_id)
        except Unavailable:
            return None
        is_same = (pane.pane_id, pane.window_id, pane.window_index) == (
            before.pane_id,
            before.window_id,
            before.window_index,
        )
        return (pane, screen) if is_same else None

    async def _observe_pane(
        self, pane: Pane | None, screen: Screen | None
    ) -> tuple[AgentStatus, Observation]:
        if pane is None:
            is_attached = self.connection.client is not None
            return unavailable(self.connection.reason), tui_observation.of_nothing(
                self.connection.reason, is_attached=is_attached
            )
        if pane.dead:
            detail = f"its program ended{pane.ending}"
            return unavailable(detail), tui_observation.of_dead(pane, detail)
        if terminal.is_waiting(pane):
            # The launch is in progress; the placeholder process is not the agent.
            asyncio.get_running_loop().call_later(_STARTING_SECONDS, self._due.set)
            detail = "its program is being started"
            return unavailable(detail), tui_observation.of_nothing(detail, is_attached=True)
        instance_id = instance_of(pane)
        if instance_id is None:
            return unavailable("its program is ending"), tui_observation.of_dead(
                pane, "its program is ending"
            )
        return await self._observe_program(pane, screen, instance_id)

    async def _observe_program(
        self, pane: Pane, screen: Screen | None, instance_id: str
    ) -> tuple[AgentStatus, Observation]:
        is_same = instance_id == self.status.instance_id
        if not is_same:
            await self._begin_program(pane)
        elif self._sources is not None and not self._sources.is_watching:
            await self._sources.refresh()
        try:
            screen = screen or await self._client().capture(pane.pane_id)
        except Unavailable as error:
            return unavailable(str(error)), tui_observation.of_nothing(str(error), is_attached=True)
        is_known = self.status.is_known if is_same else await self._is_named(pane)
        surface = self._tool.read_surface(screen, self._version)
        status = AgentStatus(
            connectivity="connected",
            eligibility=eligibility_of(surface),
            instance_id=instance_id,
            is_known=is_known,
        )
        return status, self._with_signals(tui_observation.of_screen(pane, screen, surface, self._names))

    def _client(self) -> ControlClient:
        """The client while it is attached.

        Raises:
            Unavailable: It is detached.
        """
        if self.connection.client is None:
            raise AgentGone(self.connection.reason)
        return self.connection.client

    async def _begin_program(self, pane: Pane) -> None:
        """Reset for another program in the pane: earlier hook reports and transcripts are stale."""
        if self._sources is not None:
            self._sources.close()
        self._sources = EvidenceSources(
            self._tool, self.connection.session, self._due.set, self.connection.background
        )
        self._names = _matching(self._tool.name, await asyncio.to_thread(processes.names_below, pane.pid))
        if (process := processes.identify(pane.pid)) is not None:
            await self._sources.begin(processes.started_at(process))

    async def _is_named(self, pane: Pane) -> bool:
        return await self.connection.is_named_in_manifest(
            lambda made: made.manifest.runtime.agent_pid == pane.pid
        )

    def _with_signals(self, observation: Observation) -> Observation:
        output_at = self._follower.output_at if self._follower is not None else None
        if self._sources is None:
            return replace(observation, output_at=output_at)
        signals = self._sources.signals
        return replace(
            observation,
            output_at=output_at,
            hook_report=signals.hook_report,
            ended_turn=signals.ended,
            running_since_utc=signals.running_since_utc,
        )

    async def _program_ended(self, pane: Pane) -> None:
        """Return when tmux reports that the pane's program ended or was replaced."""
        await process_exit.ended(pane.pid)
        for _ in range(_EXIT_POLLS):
            now = await self.connection.agent_pane()
            if now is None or now.dead or now.pid != pane.pid:
                return
            await asyncio.sleep(_EXIT_POLL_SECONDS)

    def _lost(self) -> None:
        self.pane = None
        self._set_status(
            unavailable(self.connection.reason),
            tui_observation.of_nothing(self.connection.reason, is_attached=False),
        )

    def _set_status(self, status: AgentStatus, observation: Observation) -> None:
        has_changed = status != self.status or not observation.is_equivalent_to(self.observation)
        self.status, self.observation = status, observation
        if has_changed:
            self._on_change()


def eligibility_of(surface: Surface) -> Eligibility:
    """Prompt eligibility of a surface."""
    if surface.state in ("unknown", "exited"):
        return "unknown"
    return "ready" if surface.state == "ready" else "not_ready"


def instance_of(pane: Pane) -> str | None:
    """A unique id of the program in *pane*; None when it is gone."""
    process = processes.identify(pane.pid)
    if process is None:
        return None
    return f"{processes.boot_id()}:{pane.pane_id}:{process.pid}:{process.start_ticks}"


def _matching(tool: str, names: list[str]) -> tuple[str, ...]:
    """Those of *names* that are the tool's: `claude`, `claude-code`, `codex.js`."""
    return tuple(name for name in names if name.casefold().split(".")[0].split("-")[0] == tool)


async def first_of(*waits: Coroutine[Any, Any, None]) -> None:
    """Return when one of *waits* has ended; cancel the others. Raises its exception."""
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


def unavailable(detail: str) -> AgentStatus:
    """Status of an unavailable agent."""
    return AgentStatus(connectivity="unavailable", eligibility="unknown", detail=detail)
