"""How a TUI is, in the contract's words: from its gateway where one lives, else by a look from here."""

from collections.abc import Mapping

from posthouse.contracts import gateway_tui_http as tui
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_tui_http import Problem
from posthouse.errors import PosthouseError
from posthouse.server.observation import gateway_state
from posthouse.server.observation.context import MANIFEST_UNREADABLE, Background, Unreadable
from posthouse.server.observation.terminal import Terminal
from posthouse.server.observation.tui_observers import Eyes
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

    def __init__(self, eyes: Eyes) -> None:
        self._eyes = eyes

    async def summary(self, background: Background) -> wire.Summary:
        return _summary(*await self.observed(background))

    async def detail(self, background: Background) -> wire.Detail:
        found, terminal = await self.observed(background)
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

    async def history(self, background: Background, limit: int) -> wire.History:
        """The latest changes of its terminal, newest first."""
        found, terminal = await self.observed(background)
        newest = terminal.transitions[: -limit - 1 : -1]
        return wire.History(
            tracked_agent_id=found.member.tracked_agent_id,
            entries=tuple(_entry(change) for change in newest),
        )

    async def observed(self, background: Background) -> tuple[Background, Terminal]:
        """The terminal now, and what turned out to be wrong on the way to it."""
        if background.gateway is not None:
            try:
                state = await gateway_state.terminal(background.member, background.gateway)
            except PosthouseError as error:
                background = background.without_gateway(error)
            else:
                return background, Terminal.of_gateway(state)
        return background, await self._seen_from_here(background)

    async def _seen_from_here(self, background: Background) -> Terminal:
        member, session, now = background.member, background.session, clock.now()
        tool = member.record.identity.tool
        if isinstance(session, Unreadable):
            return Terminal.unreadable(tool, MANIFEST_UNREADABLE, session.why, at=now)
        if not background.is_live:
            return Terminal.missing(tool, f"its tmux session {member.tmux_session_name} is gone", at=now)
        try:
            async with self._eyes.on(session) as eye:
                return await eye.look()
        except PosthouseError as error:
            return Terminal.unreadable(tool, error.code, str(error), at=now)


def _summary(background: Background, terminal: Terminal) -> wire.Summary:
    agent, phase, last = background.member.tracked_agent_id, terminal.turn.phase, terminal.last_turn
    return background.summary(
        _AVAILABILITY[terminal.diagnostics.availability],
        wire.TurnPosture(phase=phase, active_turn_id=f"tui-anchor:{agent}" if phase == "active" else None),
        wire.LastTurn(result=last.result, turn_id=None, turn_index=None, updated_at_utc=last.updated_at_utc),
        _problems(background, terminal.diagnostics),
    )


def _problems(background: Background, told: tui.Diagnostics) -> tuple[Problem, ...]:
    found = [one for one in (told.probe_error, told.parse_error) if one is not None]
    if told.transport_state == "tmux_missing":
        message = f"its tmux session {background.member.tmux_session_name} is gone"
        found.append(Problem(kind=TMUX_SESSION_MISSING, message=message))
    elif told.process_state == "tui_down":
        found.append(Problem(kind="tui_down", message="its program ended; its tmux session is there"))
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
