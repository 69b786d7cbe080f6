"""State of a headless agent, from its gateway's control state and its turn records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from posthouse.agent.chat_view import chat_state
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.gateway_control_http import ChatState, HeadlessControlState
from posthouse.contracts.gateway_tui_http import Phase, Problem
from posthouse.contracts.managed_agent_files import RecordedStatus, TurnRecord
from posthouse.errors import PosthouseError
from posthouse.server.member import Member
from posthouse.server.observation import gateway_state
from posthouse.server.observation.context import AgentContext, UnreadableSession
from posthouse.server.observation.tui import TMUX_SESSION_MISSING

#: The history is coarse; the turn has the full answer.
_MAX_SUMMARY = 200
RUNTIME_RESUME_UNAVAILABLE = "runtime_resume_unavailable"
_RESULTS: Mapping[RecordedStatus, wire.TurnResult] = {
    "active": "none",
    "completed": "success",
    "interrupted": "interrupted",
    "failed": "known_failure",
}


class Turns(Protocol):
    """Headless turns, from their records and artifacts."""

    async def active(self, member: Member) -> TurnRecord | None:
        """The running turn, including one that the server did not start."""

    async def last(self, member: Member) -> TurnRecord | None:
        """The newest turn that has ended."""

    async def history(self, member: Member, limit: int) -> list[TurnRecord]:
        """The newest turns, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observation:
    """The observed state of a headless agent."""

    is_resumable: bool
    is_session_live: bool
    can_accept: bool
    chat: ChatState | None
    active_turn_id: str | None
    active: TurnRecord | None
    last: TurnRecord | None

    @property
    def is_available(self) -> bool:
        return self.is_resumable and self.is_session_live

    @property
    def turn(self) -> wire.TurnPosture:
        phase: Phase = "ready" if self.is_available else "unknown"
        return wire.TurnPosture(
            phase=phase if self.active_turn_id is None else "active", active_turn_id=self.active_turn_id
        )

    @property
    def last_turn(self) -> wire.LastTurn:
        if (last := self.last) is None:
            return wire.LastTurn(result="none", turn_id=None, turn_index=None, updated_at_utc=None)
        return wire.LastTurn(
            result=_RESULTS[last.status],
            turn_id=last.turn_id,
            turn_index=last.turn_index,
            updated_at_utc=last.completed_at_utc,
        )


class HeadlessStates:
    """The states of all headless agents."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    async def summary(self, context: AgentContext) -> wire.Summary:
        return _summary(*await self._observe(context))

    async def detail(self, context: AgentContext) -> wire.Detail:
        found, observed = await self._observe(context)
        return wire.Detail(
            tracked_agent_id=found.member.tracked_agent_id,
            identity=found.member.identity,
            summary_state=_summary(found, observed),
            detail=_detail(found, observed),
        )

    async def history(self, context: AgentContext, limit: int) -> wire.History:
        """The latest turns, newest first."""
        member = context.member
        records = await self._turns.history(member, limit)
        return wire.History(
            tracked_agent_id=member.tracked_agent_id,
            entries=tuple(_entry(record) for record in records),
        )

    async def _observe(self, context: AgentContext) -> tuple[AgentContext, _Observation]:
        member = context.member
        active, last = await self._turns.active(member), await self._turns.last(member)
        if context.gateway is not None:
            try:
                control = await gateway_state.headless(member, context.gateway)
            except PosthouseError as error:
                context = context.without_gateway(error)
            else:
                return context, _from_gateway(control, active, last)
        return context, _from_records(context, active, last)


def _from_gateway(
    control: HeadlessControlState, active: TurnRecord | None, last: TurnRecord | None
) -> _Observation:
    return _Observation(
        is_resumable=control.runtime_resumable,
        is_session_live=control.tmux_session_live,
        can_accept=control.can_accept_prompt_now and active is None,
        chat=control.chat_session,
        active_turn_id=active.turn_id if active else control.active_turn_id,
        active=active,
        last=last,
    )


def _from_records(context: AgentContext, active: TurnRecord | None, last: TurnRecord | None) -> _Observation:
    headless = None if context.manifest is None else context.manifest.headless
    return _Observation(
        is_resumable=headless is not None,
        is_session_live=context.is_live,
        can_accept=headless is not None and context.is_live and active is None,
        chat=None if headless is None else chat_state(headless),
        active_turn_id=active.turn_id if active else None,
        active=active,
        last=last,
    )


def _summary(context: AgentContext, observed: _Observation) -> wire.Summary:
    availability: wire.Availability = "available" if observed.is_available else "unavailable"
    return context.summary(availability, observed.turn, observed.last_turn, _problems(context, observed))


def _detail(context: AgentContext, observed: _Observation) -> wire.HeadlessDetail:
    active, last = observed.active, observed.last
    return wire.HeadlessDetail(
        runtime_resumable=observed.is_resumable,
        tmux_session_live=observed.is_session_live,
        can_accept_prompt_now=observed.can_accept,
        interruptible=observed.active_turn_id is not None,
        chat_session=observed.chat,
        turn=observed.turn,
        last_turn=observed.last_turn,
        active_turn_started_at_utc=active.started_at_utc if active else None,
        active_turn_interrupt_requested_at_utc=active.interrupt_requested_at_utc if active else None,
        last_turn_status=last.status if last else None,
        last_turn_started_at_utc=last.started_at_utc if last else None,
        last_turn_completed_at_utc=last.completed_at_utc if last else None,
        last_turn_completion_source=last.completion_source if last else None,
        last_turn_returncode=last.returncode if last else None,
        last_turn_history_summary=last.history_summary if last else None,
        last_turn_error=last.error if last else None,
        mailbox=context.mailbox_posture,
        gateway=context.gateway_posture,
        diagnostics=(*_problems(context, observed), *context.gateway_problems),
    )


def _problems(context: AgentContext, observed: _Observation) -> tuple[Problem, ...]:
    found = []
    if not observed.is_resumable:
        found.append(Problem(kind=RUNTIME_RESUME_UNAVAILABLE, message=_resume_problem(context)))
    if not observed.is_session_live:
        name = context.member.tmux_session_name
        found.append(Problem(kind=TMUX_SESSION_MISSING, message=f"its tmux session {name} is gone"))
    return tuple(found)


def _resume_problem(context: AgentContext) -> str:
    """Why the agent's conversation can't be resumed."""
    if isinstance(context.session, UnreadableSession):
        return context.session.reason
    if context.session.manifest.headless is None:
        return "its manifest has no headless section"
    return "its gateway can't reach its session"


def _entry(record: TurnRecord) -> wire.HistoryEntry:
    text = " ".join((record.history_summary or record.error or "").split())[:_MAX_SUMMARY]
    return wire.HistoryEntry(
        recorded_at_utc=record.completed_at_utc or record.started_at_utc,
        summary=f"turn {record.turn_index} {record.status}" + (f": {text}" if text else ""),
        # It accepted the turn, so it was available.
        availability="available",
        turn_phase="ready" if record.is_final else "active",
        last_turn_result=_RESULTS[record.status],
        turn_id=record.turn_id,
    )
