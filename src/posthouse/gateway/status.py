"""The status of a live gateway: a projection of current facts, never stored as a fact."""

from dataclasses import dataclass
from typing import Literal

from posthouse.agent.adapter import AgentStatus, Connectivity
from posthouse.contracts.gateway_files import Attach, ExecutionMode, Host
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.queue import Counts, Instance

Recovery = Literal["idle", "awaiting_rebind", "reconciliation_required"]
Admission = Literal["open", "blocked_unavailable", "blocked_reconciliation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Address and tmux location of this gateway."""

    host: Host
    port: int
    mode: ExecutionMode = "detached_process"
    tmux_window_id: str | None = None
    tmux_window_index: str | None = None
    tmux_pane_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFacts:
    """Everything a status is derived from."""

    attach: Attach
    binding: Binding
    agent: AgentStatus
    #: The newest instance ever observed; None before the first.
    instance: Instance | None
    counts: Counts
    #: Something holds the execution slot.
    is_executing: bool


def epoch_of(instance: Instance | None) -> int:
    """The epoch to publish. A live gateway has at least the first."""
    return 1 if instance is None else instance.epoch


def derive(facts: StatusFacts) -> GatewayStatus:
    """The status that follows from *facts*. Pure."""
    connectivity, recovery, admission = _derive_states(facts.agent, facts.instance)
    attach, binding = facts.attach, facts.binding
    return GatewayStatus(
        attach_identity=attach.attach_identity,
        backend=attach.backend,
        tmux_session_name=attach.tmux_session_name,
        gateway_health="healthy",
        managed_agent_connectivity=connectivity,
        managed_agent_recovery=recovery,
        request_admission=admission,
        terminal_surface_eligibility=facts.agent.eligibility,
        active_execution="running" if facts.is_executing or facts.counts.running else "idle",
        execution_mode=binding.mode,
        queue_depth=facts.counts.depth,
        gateway_host=binding.host,
        gateway_port=binding.port,
        gateway_tmux_window_id=binding.tmux_window_id,
        gateway_tmux_window_index=binding.tmux_window_index,
        gateway_tmux_pane_id=binding.tmux_pane_id,
        managed_agent_instance_epoch=epoch_of(facts.instance),
        managed_agent_instance_id=facts.agent.instance_id,
    )


def admission_of(agent: AgentStatus, instance: Instance | None) -> Admission:
    """Whether a request is accepted now; the part of the status that is read most often. Pure."""
    return _derive_states(agent, instance)[2]


def _derive_states(agent: AgentStatus, instance: Instance | None) -> tuple[Connectivity, Recovery, Admission]:
    if agent.connectivity == "unavailable" or instance is None:
        return "unavailable", "awaiting_rebind", "blocked_unavailable"
    if not instance.is_decided:
        return "connected", "reconciliation_required", "blocked_reconciliation"
    return "connected", "idle", "open"
