"""`agents state` and `agents self identity`."""

from typing import Any

from posthouse.cli import agent_description, agent_state, gateways, humanize, tui_state_view, turns
from posthouse.cli.agent_state import Observed
from posthouse.cli.context import Call
from posthouse.cli.output import fields
from posthouse.contracts.manifest import FilesystemMailbox
from posthouse.errors import PosthouseError
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.support import clock

_GATEWAY_FIELDS = (
    "gateway_health",
    "managed_agent_connectivity",
    "managed_agent_recovery",
    "request_admission",
    "active_execution",
    "queue_depth",
    "gateway_host",
    "gateway_port",
)


def state(call: Call) -> int:
    """Show what the agent is doing, from its own files and its screen."""
    agent = call.agent()
    found = turns.session_of(agent)
    seen = agent_state.observe(agent, found)
    status = gateways.status(call.wiring, found)
    gateway = {key: status.get(key) for key in _GATEWAY_FIELDS}
    belief = _belief(call, found)
    call.output.result(_summary(agent, seen, gateway) | {"tui": belief}, _told(agent, seen, gateway, belief))
    return 0


def identity(call: Call) -> int:
    """Show who the agent of this session is."""
    agent = call.agent()
    value = agent_description.identity(agent)
    shown = (
        "agent_name",
        "agent_id",
        "tool",
        "transport",
        "lifecycle_state",
        "tmux_session_name",
        "manifest_path",
    )
    call.output.result(value, fields([(key, str(value[key])) for key in shown]))
    return 0


def _summary(agent: Agent, seen: Observed, gateway: dict[str, Any]) -> dict[str, Any]:
    """The contract's state summary, and the evidence it rests on."""
    return {
        "tracked_agent_id": agent.agent_id,
        "identity": agent_description.identity(agent),
        "availability": "available" if agent.health == "healthy" else "unavailable",
        "turn": {"phase": seen.phase, "active_turn_id": seen.active_turn_id},
        "last_turn": {
            "result": seen.last_result,
            "turn_id": seen.last_turn_id,
            "turn_index": seen.last_turn_index,
            "updated_at_utc": seen.last_at_utc,
        },
        "diagnostics": [
            {"kind": "agent_health", "message": text, "details": None} for text in (agent.detail,) if text
        ],
        "mailbox": _mailbox(agent),
        "gateway": gateway,
        "memory_root": None,
        "memo_file": None,
        "pages_dir": None,
        "evidence": seen.evidence,
    }


def _mailbox(agent: Agent) -> dict[str, Any] | None:
    binding = None if agent.session is None else agent.session.manifest.launch_plan.mailbox
    if binding is None:
        return None
    transport = "filesystem" if isinstance(binding, FilesystemMailbox) else "stalwart"
    return {"transport": transport, "principal_id": binding.principal_id, "address": binding.address}


def _belief(call: Call, found: Session) -> dict[str, Any] | None:
    """What a live gateway believes of a TUI; None where there is none to ask."""
    if found.manifest.is_headless or (client := gateways.client_of(call.wiring, found)) is None:
        return None
    try:
        return client.tui_belief()
    except PosthouseError:  # an older gateway, or one that is just ending: the screen was looked at anyway
        return None


def _told(agent: Agent, seen: Observed, gateway: dict[str, Any], belief: dict[str, Any] | None) -> str:
    pairs = [
        (
            "agent",
            f"{agent.name} ({agent.record.identity.tool}, {agent_description.kind(agent)}, "
            f"id {agent.agent_id})",
        ),
        ("health", agent_description.health(agent).text + (f": {agent.detail}" if agent.detail else "")),
        ("turn", f"{seen.phase} ({seen.evidence})"),
    ]
    if seen.last_result != "none":
        when = f", {humanize.ago(clock.parse(seen.last_at_utc), clock.now())}" if seen.last_at_utc else ""
        pairs.append(("last turn", f"{seen.last_result}{when}"))
    if belief is not None:
        detail = f" ({belief['detail']})" if belief["detail"] else ""
        pairs.append(("TUI", f"{tui_state_view.in_words(belief)}{detail}"))
    pairs.append(("gateway", _gateway_told(gateway)))
    return "\n".join([fields(pairs), *tui_state_view.choices_of(belief or {})])


def _gateway_told(gateway: dict[str, Any]) -> str:
    if not gateway["gateway_host"]:
        return "none"
    admission, depth = gateway["request_admission"], gateway["queue_depth"]
    address = f"http://{gateway['gateway_host']}:{gateway['gateway_port']}"
    return f"{address} (admission {admission}, queue {depth})"
