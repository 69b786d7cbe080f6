"""The overview of all agents from files: records, turn folders and gateway state."""

from datetime import datetime
from pathlib import Path
from typing import Any

from posthouse.cli import agent_description, tui_state_view
from posthouse.cli.overview import AgentLine
from posthouse.contracts import gateway_files as gf
from posthouse.sessions import liveness
from posthouse.sessions.liveness import Agent
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import clock, untrusted_files
from posthouse.turns import runner

_MAX_BYTES = 1 << 16
#: Headless turn outcomes in the terms of TUI outcomes.
_OUTCOMES = {"completed": "success", "failed": "error"}


def read(registry: Registry) -> list[AgentLine]:
    """One line for each agent that should be running, by name. Queries tmux, but no gateway."""
    return [_line(agent) for agent in liveness.registered(registry)]


def _line(agent: Agent) -> AgentLine:
    state, since, last = _activity(agent)
    return AgentLine(
        agent_id=agent.agent_id,
        name=agent.name,
        tool=agent.record.identity.tool,
        kind=agent_description.kind(agent),
        state=state,
        since=since,
        queue=_queue(agent),
        last=last,
    )


def _activity(agent: Agent) -> tuple[str, datetime | None, str]:
    """The agent's state, its start time, and the outcome of its last turn."""
    if agent.session is None or agent.health != "healthy":
        since = clock.parse(agent.record.lifecycle.state_updated_at)
        return agent_description.health(agent).text, since, "none"
    if agent.session.manifest.is_headless:
        return _headless(agent.session)
    tui = tui_state_view.read_saved(agent.session) if agent_description.gateway(agent) else None
    if tui is None:
        return "alive", clock.parse(agent.record.lifecycle.state_updated_at), "none"
    return (
        tui_state_view.describe(tui),
        _parse_time(tui.get("since_utc")),
        str(tui.get("outcome", "none")),
    )


def _headless(session: Session) -> tuple[str, datetime | None, str]:
    turn = runner.last(session.turns_root)
    if turn is None:
        return "ready", None, "none"
    state = turn.state()
    if state.status == "active":
        return "active", _parse_time(state.started_at_utc), "none"
    return "ready", _parse_time(state.completed_at_utc), _OUTCOMES.get(state.status, state.status)


def _queue(agent: Agent) -> int | None:
    if agent.session is None or agent_description.gateway(agent) is None:
        return None
    depth = _read_json(agent.session.gateway_root / gf.STATE).get("queue_depth")
    return depth if isinstance(depth, int) else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        with untrusted_files.open_file(path) as stream:
            content = untrusted_files.decode_json(stream.read(_MAX_BYTES))
    except (OSError, ValueError):  # being replaced, or removed with its gateway
        return {}
    return content if isinstance(content, dict) else {}


def _parse_time(text: object) -> datetime | None:
    return clock.parse(text) if isinstance(text, str) else None
