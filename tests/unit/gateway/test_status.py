"""What follows from what for `/v1/status`."""

import pytest

from posthouse.agent.adapter import AgentStatus
from posthouse.contracts.gateway_files import Attach, BackendMetadata
from posthouse.gateway.status import Binding, StatusFacts, derive
from posthouse.queue import Counts, Instance

ATTACH = Attach(
    attach_identity="claude_headless-1",
    backend="claude_headless",
    tmux_session_name="HOUMAO-gpu-1",
    working_directory="/w",
    backend_metadata=BackendMetadata(tool="scripted"),
)
GONE = AgentStatus(connectivity="unavailable", eligibility="unknown", detail="ended")
THERE = AgentStatus(connectivity="connected", eligibility="ready", instance_id="two")
NOTHING = Counts()
DETACHED = Binding(host="127.0.0.1", port=43123)
FIRST = Instance(epoch=1, instance_id="two", is_decided=True)
SECOND = Instance(epoch=2, instance_id="two", is_decided=True)
UNDECIDED = Instance(epoch=2, instance_id="two", is_decided=False)

ADMISSION = {
    "an agent that was never seen": (GONE, None, ("unavailable", "awaiting_rebind", "blocked_unavailable")),
    "an agent that went away": (GONE, FIRST, ("unavailable", "awaiting_rebind", "blocked_unavailable")),
    "the first agent": (THERE, FIRST, ("connected", "idle", "open")),
    "a later one that was decided": (THERE, SECOND, ("connected", "idle", "open")),
    "a stranger": (THERE, UNDECIDED, ("connected", "reconciliation_required", "blocked_reconciliation")),
    "a stranger that went away": (GONE, UNDECIDED, ("unavailable", "awaiting_rebind", "blocked_unavailable")),
}


def facts(
    standing: AgentStatus = THERE,
    instance: Instance | None = FIRST,
    *,
    counts: Counts = NOTHING,
    is_executing: bool = False,
    binding: Binding = DETACHED,
) -> StatusFacts:
    return StatusFacts(
        attach=ATTACH,
        binding=binding,
        agent=standing,
        instance=instance,
        counts=counts,
        is_executing=is_executing,
    )


@pytest.mark.parametrize(("standing", "instance", "expected"), ADMISSION.values(), ids=ADMISSION.keys())
def test_admission_follows_from_the_agent(
    standing: AgentStatus, instance: Instance | None, expected: tuple[str, str, str]
) -> None:
    """Connectivity, recovery and admission agree, and only a decided agent gets work."""
    status = derive(facts(standing, instance))

    told = (status.managed_agent_connectivity, status.managed_agent_recovery, status.request_admission)
    assert told == expected


@pytest.mark.parametrize(
    ("counts", "is_executing", "expected"),
    [
        (Counts(), False, "idle"),
        (Counts(accepted=3), False, "idle"),
        (Counts(running=1), False, "running"),
        (Counts(), True, "running"),
    ],
)
def test_execution_runs_while_the_slot_is_held_or_a_row_runs(
    counts: Counts, is_executing: bool, expected: str
) -> None:
    """What only waits is not running."""
    assert derive(facts(counts=counts, is_executing=is_executing)).active_execution == expected


def test_a_whole_status_in_a_window() -> None:
    """Every field has its place, the tmux ones included."""
    binding = Binding(
        host="127.0.0.1",
        port=43123,
        mode="tmux_auxiliary_window",
        tmux_window_id="@9",
        tmux_window_index="2",
        tmux_pane_id="%9",
    )

    status = derive(facts(counts=Counts(accepted=2, running=1), binding=binding))

    assert status.model_dump() == {
        "schema_version": 1,
        "protocol_version": "v1",
        "attach_identity": "claude_headless-1",
        "backend": "claude_headless",
        "tmux_session_name": "HOUMAO-gpu-1",
        "gateway_health": "healthy",
        "managed_agent_connectivity": "connected",
        "managed_agent_recovery": "idle",
        "request_admission": "open",
        "terminal_surface_eligibility": "ready",
        "active_execution": "running",
        "execution_mode": "tmux_auxiliary_window",
        "queue_depth": 3,
        "gateway_host": "127.0.0.1",
        "gateway_port": 43123,
        "gateway_tmux_window_id": "@9",
        "gateway_tmux_window_index": "2",
        "gateway_tmux_pane_id": "%9",
        "managed_agent_instance_epoch": 1,
        "managed_agent_instance_id": "two",
    }
