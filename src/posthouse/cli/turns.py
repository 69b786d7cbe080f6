"""Finds and shows the headless turns of one session."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from posthouse.cli.output import Output
from posthouse.contracts.events import CanonicalEvent, Detail, Style
from posthouse.errors import Conflict, NotFound
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.turns import runner
from posthouse.turns.render import Renderer
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn

_POLL_SECONDS = 0.1


def session_of(agent: Agent) -> Session:
    """The session of *agent*.

    Raises:
        Conflict: Its manifest can't be read; the message has the reason.
    """
    if agent.session is None:
        raise Conflict(f"agent {agent.name!r}: {agent.detail}")
    return agent.session


def headless_session(agent: Agent) -> Session:
    """The session of a headless agent.

    Raises:
        Conflict: The agent has a TUI.
    """
    session = session_of(agent)
    if not session.manifest.is_headless:
        raise Conflict(
            f"agent {agent.name!r} has a TUI; turns are for agents launched with --headless",
            code="not_headless",
        )
    return session


def find(session: Session, turn_id: str) -> Turn:
    """The turn called *turn_id*, or the newest for `last`.

    Raises:
        NotFound: There is none.
    """
    turns = runner.turns_of(session.turns_root)
    if turn_id == "last" and turns:
        return turns[-1]
    for turn in turns:
        if turn.turn_id == turn_id:
            return turn
    newest = f"; the newest is {turns[-1].turn_id}" if turns else "; it has no turns yet"
    raise NotFound(f"agent {session.agent_name!r} has no turn {turn_id!r}{newest}", code="turn_not_found")


def exists(session: Session, turn_id: str | None) -> bool:
    """Whether a turn with that id exists, in any state."""
    return turn_id is not None and Turn(session.turns_root / turn_id).folder.order.exists()


def status(agent: Agent, turn: Turn, state: TurnState) -> dict[str, Any]:
    """The contract's status of one turn."""
    return {
        "tracked_agent_id": agent.agent_id,
        "turn_id": state.turn_id,
        "turn_index": state.turn_index,
        "status": state.status,
        "started_at_utc": state.started_at_utc,
        "completed_at_utc": state.completed_at_utc,
        "returncode": state.returncode,
        "completion_source": state.completion_source,
        "stdout_path": _existing(turn.stdout_path),
        "stderr_path": _existing(turn.stderr_path),
        "status_path": _existing(turn.exitcode_path),
        "history_summary": state.answer,
        "error": state.error,
    }


def _existing(path: Path) -> str | None:
    return str(path) if path.exists() else None


def follow(turn: Turn, show: Callable[[CanonicalEvent], None], seconds: float | None) -> TurnState:
    """Call *show* with each event until the turn ends or *seconds* pass."""
    import time

    deadline = None if seconds is None else time.monotonic() + seconds
    shown = 0
    while True:
        left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
        state = turn.wait(max(0.0, left))
        for event in islice(turn.events(), shown, None):
            show(event)
            shown += 1
        if state.status != "active" or (deadline is not None and time.monotonic() >= deadline):
            return state


def event_writer(output: Output, detail: Detail = "concise") -> Callable[[CanonicalEvent], None]:
    """A function that writes events to *output* as the agent's pane shows them."""
    style: Style = output.style
    renderer = Renderer(style, detail, colour=output.has_colours)

    def write(event: CanonicalEvent) -> None:
        output.write_raw(renderer.feed(event))  # the renderer has escaped it

    return write
