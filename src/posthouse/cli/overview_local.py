"""All agents at a glance, from their own files: records, turn folders, what gateways left on disk."""

from datetime import datetime
from pathlib import Path
from typing import Any

from posthouse.cli import agent_description, tui_state_view
from posthouse.cli.overview import Line
from posthouse.contracts import gateway_files as gf
from posthouse.sessions import liveness
from posthouse.sessions.liveness import Agent
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import clock, untrusted_files
from posthouse.turns import runner

_MAX_BYTES = 1 << 16
#: A headless turn's end in the words of a TUI's.
_OUTCOMES = {"completed": "success", "failed": "error"}


def look(registry: Registry) -> list[Line]:
    """Every agent that is meant to run, by name. Asks tmux, and no gateway."""
    return [_line(agent) for agent in liveness.registered(registry)]


def _line(agent: Agent) -> Line:
    state, since, last = _doing(agent)
    return Line(
        agent_id=agent.agent_id,
        name=agent.name,
        tool=agent.record.identity.tool,
        kind=agent_description.kind(agent),
        state=state,
        since=since,
        queue=_queue(agent),
        last=last,
    )


def _doing(agent: Agent) -> tuple[str, datetime | None, str]:
    """What it does, since when, and how its last turn ended."""
    if agent.session is None or agent.health != "healthy":
        since = clock.parse(agent.record.lifecycle.state_updated_at)
        return agent_description.health(agent).text, since, "none"
    if agent.session.manifest.is_headless:
        return _headless(agent.session)
    belief = tui_state_view.left_on_disk(agent.session) if agent_description.gateway(agent) else None
    if belief is None:
        return "alive", clock.parse(agent.record.lifecycle.state_updated_at), "none"
    return (
        tui_state_view.in_words(belief),
        _moment(belief.get("since_utc")),
        str(belief.get("outcome", "none")),
    )


def _headless(found: Session) -> tuple[str, datetime | None, str]:
    turn = runner.last(found.turns_root)
    if turn is None:
        return "ready", None, "none"
    state = turn.state()
    if state.status == "active":
        return "active", _moment(state.started_at_utc), "none"
    return "ready", _moment(state.completed_at_utc), _OUTCOMES.get(state.status, state.status)


def _queue(agent: Agent) -> int | None:
    if agent.session is None or agent_description.gateway(agent) is None:
        return None
    depth = _left(agent.session.gateway_root / gf.STATE).get("queue_depth")
    return depth if isinstance(depth, int) else None


def _left(path: Path) -> dict[str, Any]:
    try:
        with untrusted_files.open_file(path) as stream:
            content = untrusted_files.decode_json(stream.read(_MAX_BYTES))
    except (OSError, ValueError):  # just being replaced, or gone with its gateway
        return {}
    return content if isinstance(content, dict) else {}


def _moment(text: object) -> datetime | None:
    return clock.parse(text) if isinstance(text, str) else None
