"""State of a TUI in the contract's terms: from its live gateway, else from a local observer."""

from collections.abc import Mapping

from posthouse.contracts import gateway_tui_http as tui
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_tui_http import Problem
from posthouse.errors import PosthouseError
from posthouse.server.observation import gateway_state
from posthouse.server.observation.context import MANIFEST_UNREADABLE, AgentContext, UnreadableSession
from posthouse.server.observation.terminal import Terminal
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.support import clock

TMUX_SESSION_MISSING = "tmux_session_missing"
_AVAILABILITY: Mapping[tui.Availability, wire.Availability] = {
    "available": "available",
    "unknown": "available",
    "unavailable": "unavailable",
    "tui_down": "unavailable",
    "error": "error",
}


class TuiStates:
    """The states of all TUIs."""

    def __init__(self, observers: TuiObservers) -> None:
        self._observers = observers

    async def summary(self, context: AgentContext) -> wire.Summary:
        return _summary(*await self.observe(context))

    async def detail(self, context: AgentContext) -> wire.Detail:
        found, terminal = await self.observe(context)
        member = found.member
        agent = member.tracked_agent_id
        return wire.Detail(
            tracked_agent_id=agent,
            identity=member.identity,
            summary_state=_summary(found, terminal),
            detail=wire.TuiDetail(
                terminal_id=member.identity.terminal_id or agent,
                canonical_terminal_state_route=f"/houmao/agents/{agent}/state",
                canonical_terminal_history_route=f"/houmao/agents/{agent}/history",
                diagnostics=terminal.diagnostics,
                probe_snapshot=terminal.probe_snapshot,
                parsed_surface=terminal.parsed_surface,
                surface=terminal.surface,
                stability=terminal.stability,
            ),
        )

    async def history(self, context: AgentContext, limit: int) -> wire.History:
        """The latest transitions of its terminal, newest first."""
        found, terminal = await self.observe(context)
        newest = terminal.transitions[: -limit - 1 : -1]
        return wire.History(
            tracked_agent_id=found.member.tracked_agent_id,
            entries=tuple(_entry(change) for change in newest),
        )

    async def observe(self, context: AgentContext) -> tuple[AgentContext, Terminal]:
        """The current terminal, and the context with the gateway problems that occurred."""
        if context.gateway is not None:
            try:
                state = await gateway_state.terminal(context.member, context.gateway)
            except PosthouseError as error:
                context = context.without_gateway(error)
            else:
                return context, Terminal.from_gateway(state)
        return context, await self._observe_directly(context)

    async def _observe_directly(self, context: AgentContext) -> Terminal:
        member, session, now = context.member, context.session, clock.now()
        tool = member.record.identity.tool
        if isinstance(session, UnreadableSession):
            return Terminal.unreadable(tool, MANIFEST_UNREADABLE, session.reason, at=now)
        if not context.is_live:
            return Terminal.missing(tool, f"its tmux session {member.tmux_session_name} is gone", at=now)
        try:
            async with self._observers.observe(session) as observer:
                return await observer.refresh()
        except PosthouseError as error:
            return Terminal.unreadable(tool, error.code, str(error), at=now)


def _summary(context: AgentContext, terminal: Terminal) -> wire.Summary:
    agent, phase, last = context.member.tracked_agent_id, terminal.turn.phase, terminal.last_turn
    return context.summary(
        _AVAILABILITY[terminal.diagnostics.availability],
        wire.TurnPosture(phase=phase, active_turn_id=f"tui-anchor:{agent}" if phase == "active" else None),
        wire.LastTurn(result=last.result, turn_id=None, turn_index=None, updated_at_utc=last.updated_at_utc),
        _problems(context, terminal.diagnostics),
    )


def _problems(context: AgentContext, diagnostics: tui.Diagnostics) -> tuple[Problem, ...]:
    found = [one for one in (diagnostics.probe_error, diagnostics.parse_error) if one is not None]
    if diagnostics.transport_state == "tmux_missing":
        message = f"its tmux session {context.member.tmux_session_name} is gone"
        found.append(Problem(kind=TMUX_SESSION_MISSING, message=message))
    elif diagnostics.process_state == "tui_down":
        found.append(Problem(kind="tui_down", message="its program ended; its tmux session still exists"))
    return tuple(found)


def _entry(change: tui.Transition) -> wire.HistoryEntry:
    return wire.HistoryEntry(
        recorded_at_utc=change.recorded_at_utc,
        summary=change.summary,
        availability=_AVAILABILITY[change.diagnostics_availability],
        turn_phase=change.turn_phase,
        last_turn_result=change.last_turn_result,
        turn_id=None,
    )
