"""Describes an agent as text and in the fields of the managed-agent contract."""

from typing import Any

from posthouse.cli.output import Cell, Tone
from posthouse.contracts import names
from posthouse.contracts.manifest import HEADLESS
from posthouse.contracts.registry import GatewayLocator
from posthouse.sessions.liveness import Agent, Health

_HEALTH_TEXTS: dict[Health, tuple[str, Tone]] = {
    "healthy": ("alive", "good"),
    "degraded_missing_primary": ("program ended", "bad"),
    "stale_missing_session": ("session gone", "bad"),
    "stopped": ("stopped", "faint"),
    "unknown": ("unknown", "busy"),
}


def identity(agent: Agent) -> dict[str, Any]:
    """The contract's identity of a managed agent."""
    record, headless = agent.record, is_headless(agent)
    session_name = record.terminal.current_session_name
    session_id = agent.session.session_id if agent.session else None
    return {
        "tracked_agent_id": agent.agent_id,
        "transport": "headless" if headless else "tui",
        "tool": record.identity.tool,
        "session_name": None if headless else session_name,
        "terminal_id": None if headless else session_id,
        "runtime_session_id": session_id,
        "tmux_session_name": session_name,
        "tmux_window_name": names.AGENT_WINDOW,
        "manifest_path": record.runtime.manifest_path,
        "session_root": record.runtime.session_root,
        "agent_name": agent.name,
        "agent_id": agent.agent_id,
        "lifecycle_state": record.lifecycle.state,
        "management_kind": "local_lifecycle",
        "lifecycle_owner": "local",
        "external_agent_id": None,
        "remote_pair_api_base_url": None,
        "remote_agent_ref": None,
    }


def listed(agent: Agent) -> dict[str, Any]:
    """The fields of a listing: identity, health and gateway."""
    locator = gateway(agent)
    manifest = agent.session.manifest if agent.session else None
    return identity(agent) | {
        "backend": agent.record.identity.backend,
        "health": agent.health,
        "health_detail": agent.detail,
        "state_updated_at": agent.record.lifecycle.state_updated_at,
        "relaunchable": agent.record.lifecycle.relaunchable,
        "permissions": permissions(agent),
        "working_directory": manifest.working_directory if manifest else None,
        "tmux_socket": agent.session.tmux.server.socket if agent.session else None,
        "gateway": {"host": locator.host, "port": locator.port} if locator else None,
    }


def is_headless(agent: Agent) -> bool:
    return agent.record.identity.backend in HEADLESS


def kind(agent: Agent) -> str:
    return "headless" if is_headless(agent) else "tui"


def permissions(agent: Agent) -> str | None:
    """What the agent may do without asking; None if unknown."""
    if agent.session is None:
        return None
    value = agent.session.manifest.launch_plan.metadata.get("permissions")
    return value if isinstance(value, str) else None


def health(agent: Agent) -> Cell:
    text, tone = _HEALTH_TEXTS[agent.health]
    return Cell(text, tone)


def gateway(agent: Agent) -> GatewayLocator | None:
    """The address of the agent's live gateway, or None. The record of a killed one is ignored."""
    locator = agent.record.gateway
    if locator is None or agent.session is None:
        return None
    from posthouse.gateway_lifecycle import gateway_lock

    return locator if gateway_lock.holder_of(agent.session.gateway_root) is not None else None
