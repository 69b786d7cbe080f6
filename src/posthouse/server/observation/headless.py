"""How a headless agent is: what its gateway says of control, and what the records say of its turns."""

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
from posthouse.server.observation.context import Background, Unreadable
from posthouse.server.observation.tui import TMUX_SESSION_MISSING

#: The history is coarse; answers are read on the turn itself.
_MAX_SUMMARY = 200
RUNTIME_RESUME_UNAVAILABLE = "runtime_resume_unavailable"
_RESULTS: Mapping[RecordedStatus, wire.TurnResult] = {
    "active": "none",
    "completed": "success",
    "interrupted": "interrupted",
    "failed": "known_failure",
}


class Turns(Protocol):
    """What is recorded of headless turns, as their artifacts tell it now."""

    async def active(self, member: Member) -> TurnRecord | None:
        """The turn that runs, whoever started it."""

    async def last(self, member: Member) -> TurnRecord | None:
        """The newest turn that is over."""

    async def history(self, member: Member, limit: int) -> list[TurnRecord]:
        """The newest turns, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A headless agent at one moment."""

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

    async def summary(self, background: Background) -> wire.Summary:
        return _summary(*await self._observed(background))

    async def detail(self, background: Background) -> wire.Detail:
        found, seen = await self._observed(background)
        return wire.Detail(
            tracked_agent_id=found.member.tracked_agent_id,
            identity=found.member.identity,
            summary_state=_summary(found, seen),
            detail=_detail(found, seen),
        )

    async def history(self, background: Background, limit: int) -> wire.History:
        """The latest turns, newest first."""
        member = background.member
        records = await self._turns.history(member, limit)
        return wire.History(
            tracked_agent_id=member.tracked_agent_id,
            entries=tuple(_entry(record) for record in records),
        )

    async def _observed(self, background: Background) -> tuple[Background, _Seen]:
        member = background.member
        active, last = await self._turns.active(member), await self._turns.last(member)
        if background.gateway is not None:
            try:
                control = await gateway_state.headless(member, background.gateway)
            except PosthouseError as error:
                background = background.without_gateway(error)
            else:
                return background, _by_gateway(control, active, last)
        return background, _from_here(background, active, last)


def _by_gateway(control: HeadlessControlState, active: TurnRecord | None, last: TurnRecord | None) -> _Seen:
    return _Seen(
        is_resumable=control.runtime_resumable,
        is_session_live=control.tmux_session_live,
        can_accept=control.can_accept_prompt_now and active is None,
        chat=control.chat_session,
        active_turn_id=active.turn_id if active else control.active_turn_id,
        active=active,
        last=last,
    )


def _from_here(background: Background, active: TurnRecord | None, last: TurnRecord | None) -> _Seen:
    headless = None if background.manifest is None else background.manifest.headless
    return _Seen(
        is_resumable=headless is not None,
        is_session_live=background.is_live,
        can_accept=headless is not None and background.is_live and active is None,
        chat=None if headless is None else chat_state(headless),
        active_turn_id=active.turn_id if active else None,
        active=active,
        last=last,
    )


def _summary(background: Background, seen: _Seen) -> wire.Summary:
    availability: wire.Availability = "available" if seen.is_available else "unavailable"
    return background.summary(availability, seen.turn, seen.last_turn, _problems(background, seen))


def _detail(background: Background, seen: _Seen) -> wire.HeadlessDetail:
    active, last = seen.active, seen.last
    return wire.HeadlessDetail(
        runtime_resumable=seen.is_resumable,
        tmux_session_live=seen.is_session_live,
        can_accept_prompt_now=seen.can_accept,
        interruptible=seen.active_turn_id is not None,
        chat_session=seen.chat,
        turn=seen.turn,
        last_turn=seen.last_turn,
        active_turn_started_at_utc=active.started_at_utc if active else None,
        active_turn_interrupt_requested_at_utc=active.interrupt_requested_at_utc if active else None,
        last_turn_status=last.status if last else None,
        last_turn_started_at_utc=last.started_at_utc if last else None,
        last_turn_completed_at_utc=last.completed_at_utc if last else None,
        last_turn_completion_source=last.completion_source if last else None,
        last_turn_returncode=last.returncode if last else None,
        last_turn_history_summary=last.history_summary if last else None,
        last_turn_error=last.error if last else None,
        mailbox=background.mailbox_posture,
        gateway=background.gateway_posture,
        diagnostics=(*_problems(background, seen), *background.troubles),
    )


def _problems(background: Background, seen: _Seen) -> tuple[Problem, ...]:
    found = []
    if not seen.is_resumable:
        found.append(Problem(kind=RUNTIME_RESUME_UNAVAILABLE, message=_why_not(background)))
    if not seen.is_session_live:
        name = background.member.tmux_session_name
        found.append(Problem(kind=TMUX_SESSION_MISSING, message=f"its tmux session {name} is gone"))
    return tuple(found)


def _why_not(background: Background) -> str:
    """Why nobody could go on with the agent's conversation."""
    if isinstance(background.session, Unreadable):
        return background.session.why
    if background.session.manifest.headless is None:
        return "its manifest has no headless section"
    return "its gateway can't reach its session"


def _entry(record: TurnRecord) -> wire.HistoryEntry:
    told = " ".join((record.history_summary or record.error or "").split())[:_MAX_SUMMARY]
    return wire.HistoryEntry(
        recorded_at_utc=record.completed_at_utc or record.started_at_utc,
        summary=f"turn {record.turn_index} {record.status}" + (f": {told}" if told else ""),
        # It took the turn, so it was there.
        availability="available",
        turn_phase="ready" if record.is_final else "active",
        last_turn_result=_RESULTS[record.status],
        turn_id=record.turn_id,
    )
