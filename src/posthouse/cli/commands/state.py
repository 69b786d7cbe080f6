"""`agents state` and `agents self identity`."""

from typing import Any

from posthouse.cli import agent_description, agent_state, gateways, humanize, tui_state_view, turns
from posthouse.cli.agent_state import AgentObservation
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
    """Show what the agent is doing, from its files and its screen."""
    agent = call.agent()
    session = turns.session_of(agent)
    observation = agent_state.observe(agent, session)
    status = gateways.status(call.wiring, session)
    gateway = {key: status.get(key) for key in _GATEWAY_FIELDS}
    tui = _tui_state(call, session)
    call.output.result(
        _summary(agent, observation, gateway) | {"tui": tui}, _text(agent, observation, gateway, tui)
    )
    return 0


def identity(call: Call) -> int:
    """Show the identity of this session's agent."""
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


def _summary(agent: Agent, observation: AgentObservation, gateway: dict[str, Any]) -> dict[str, Any]:
    """The contract's state summary, with its evidence."""
    return {
        "tracked_agent_id": agent.agent_id,
        "identity": agent_description.identity(agent),
        "availability": "available" if agent.health == "healthy" else "unavailable",
        "turn": {"phase": observation.phase, "active_turn_id": observation.active_turn_id},
        "last_turn": {
            "result": observation.last_result,
            "turn_id": observation.last_turn_id,
            "turn_index": observation.last_turn_index,
            "updated_at_utc": observation.last_at_utc,
        },
        "diagnostics": [
            {"kind": "agent_health", "message": text, "details": None} for text in (agent.detail,) if text
        ],
        "mailbox": _mailbox(agent),
        "gateway": gateway,
        "memory_root": None,
        "memo_file": None,
        "pages_dir": None,
        "evidence": observation.evidence,
    }


def _mailbox(agent: Agent) -> dict[str, Any] | None:
    binding = None if agent.session is None else agent.session.manifest.launch_plan.mailbox
    if binding is None:
        return None
    transport = "filesystem" if isinstance(binding, FilesystemMailbox) else "stalwart"
    return {"transport": transport, "principal_id": binding.principal_id, "address": binding.address}


def _tui_state(call: Call, session: Session) -> dict[str, Any] | None:
    """The TUI state inferred by a live gateway, or None."""
    if session.manifest.is_headless or (client := gateways.client_of(call.wiring, session)) is None:
        return None
    try:
        return client.tui_belief()
    except PosthouseError:  # an older gateway, or one that is ending: the screen state is enough
        return None


def _text(
    agent: Agent, observation: AgentObservation, gateway: dict[str, Any], tui: dict[str, Any] | None
) -> str:
    pairs = [
        (
            "agent",
            f"{agent.name} ({agent.record.identity.tool}, {agent_description.kind(agent)}, "
            f"id {agent.agent_id})",
        ),
        ("health", agent_description.health(agent).text + (f": {agent.detail}" if agent.detail else "")),
        ("turn", f"{observation.phase} ({observation.evidence})"),
    ]
    if observation.last_result != "none":
        when = (
            f", {humanize.ago(clock.parse(observation.last_at_utc), clock.now())}"
            if observation.last_at_utc
            else ""
        )
        pairs.append(("last turn", f"{observation.last_result}{when}"))
    if tui is not None:
        detail = f" ({tui['detail']})" if tui["detail"] else ""
        pairs.append(("TUI", f"{tui_state_view.describe(tui)}{detail}"))
    pairs.append(("gateway", _gateway_text(gateway)))
    return "\n".join([fields(pairs), *tui_state_view.choices_of(tui or {})])


def _gateway_text(gateway: dict[str, Any]) -> str:
    if not gateway["gateway_host"]:
        return "none"
    admission, depth = gateway["request_admission"], gateway["queue_depth"]
    address = f"http://{gateway['gateway_host']}:{gateway['gateway_port']}"
    return f"{address} (admission {admission}, queue {depth})"
