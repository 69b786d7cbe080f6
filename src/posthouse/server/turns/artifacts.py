"""Builds turn records from the artifacts of turns. Reads files, writes none."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import names
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.turns.folder import Run
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn

#: Limit for the answer in a record; the artifacts have all of it.
_MAX_SUMMARY = 4096


def turn_of(record: mf.TurnRecord) -> Turn:
    return Turn(Path(record.turn_artifact_dir))


def new_record(agent: str, session: Session, turn_id: str, turn_index: int) -> mf.TurnRecord:
    """The record of a turn that is about to start."""
    surface = session.manifest.tmux
    return mf.TurnRecord(
        tracked_agent_id=agent,
        turn_id=turn_id,
        turn_index=turn_index,
        turn_artifact_dir=str(session.turns_root / turn_id),
        started_at_utc=clock.iso_micros(clock.now()),
        tmux_session_name=session.tmux_session_name,
        tmux_window_name=names.AGENT_WINDOW,
        tmux_window_id=surface.primary_window_id if surface else None,
        tmux_pane_id=surface.primary_pane_id if surface else None,
    )


def is_ordered(record: mf.TurnRecord) -> bool:
    """Whether the turn's artifacts exist; before that it can't have started."""
    return turn_of(record).folder.order.exists()


def refresh(record: mf.TurnRecord) -> mf.TurnRecord:
    """*record* updated from its artifacts; unchanged without any."""
    if record.is_final or not is_ordered(record):
        return record
    turn = turn_of(record)
    return _with_artifacts(record, turn, turn.state())


def unrecorded(agent: str, session: Session, turn: Turn) -> mf.TurnRecord:
    """The record of a turn that another process started.

    Raises:
        TurnNotFound: The folder has no turn.
    """
    state = turn.state()
    started = state.started_at_utc or _modified_at(turn.folder.order)
    record = new_record(agent, session, turn.turn_id, state.turn_index)
    return _with_artifacts(structs.replace(record, started_at_utc=started), turn, state)


def _with_artifacts(record: mf.TurnRecord, turn: Turn, state: TurnState) -> mf.TurnRecord:
    claim, interrupt = turn.folder.read_claim(), turn.folder.read_interrupt()
    fields: dict[str, Any] = {
        "turn_index": state.turn_index,
        "status": "active" if state.status == "unknown" else state.status,
        "process_path": _existing(turn.folder.process),
        "process_started_at_utc": state.started_at_utc,
        "runner_pid": claim.runner.pid if isinstance(claim, Run) else None,
        "child_pid": claim.child.pid if isinstance(claim, Run) else None,
        "interrupt_requested_at_utc": interrupt.requested_at_utc if interrupt else None,
        "completed_at_utc": state.completed_at_utc,
        "stdout_path": _existing(turn.stdout_path),
        "stderr_path": _existing(turn.stderr_path),
        "status_path": _existing(turn.exitcode_path),
        "completion_source": state.completion_source,
        "returncode": state.returncode,
        "error": state.error,
        "history_summary": _summary(state.answer),
    }
    if state.is_final and state.completed_at_utc is None:
        # It never ran or left no trace: its end is the time of detection.
        fields["completed_at_utc"] = clock.iso_micros(clock.now())
    return structs.replace(record, **fields)


def never_started(record: mf.TurnRecord, reason: str, *, on_request: bool = False) -> mf.TurnRecord:
    """The final record of a turn that has no artifacts and never will."""
    moment = clock.iso_micros(clock.now())
    return structs.replace(
        record,
        status="interrupted" if on_request else "failed",
        completed_at_utc=moment,
        interrupt_requested_at_utc=moment if on_request else record.interrupt_requested_at_utc,
        error=f"never started: {reason}",
    )


def _summary(answer: str | None) -> str | None:
    if answer is None or len(answer) <= _MAX_SUMMARY:
        return answer
    return f"{answer[: _MAX_SUMMARY - 1]}…"


def _existing(path: Path) -> str | None:
    return str(path) if path.exists() else None


def _modified_at(path: Path) -> str:
    return clock.iso_micros(datetime.fromtimestamp(path.stat().st_mtime, UTC))
