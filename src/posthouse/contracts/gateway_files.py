"""Files under `<session-root>/gateway/`, and the initial gateway status."""

from typing import Annotated, Any, Literal

import msgspec

from posthouse.contracts import names
from posthouse.contracts.manifest import Backend
from posthouse.contracts.strict import NonBlank, Port, PositiveInt, Strict

ExecutionMode = Literal["detached_process", "tmux_auxiliary_window"]
Host = Literal["127.0.0.1", "0.0.0.0"]
PositiveSeconds = Annotated[float, msgspec.Meta(gt=0)]

ATTACH = "attach.json"
GATEWAY_MANIFEST = "gateway_manifest.json"
PROTOCOL_VERSION = "protocol-version.txt"
DESIRED_CONFIG = "desired-config.json"
STATE = "state.json"
QUEUE = "queue.sqlite"
EVENTS = "events.jsonl"
LOG = "logs/gateway.log"
DIAGNOSTIC_LOG = "logs/diagnostics/gateway-diagnostic.log"
CURRENT_INSTANCE = "run/current-instance.json"
PID = "run/gateway.pid"
#: Posthouse extension: the inferred TUI state, for agent listings.
TUI = "tui.json"
#: Posthouse extension: the bearer token for callers from other machines.
TOKEN = "token"
#: Posthouse extension: while it exists, the gateway should run in the host of its runtime root.
HOSTED = "hosted"


class BackendMetadata(Strict, frozen=True, kw_only=True):
    """Metadata that the maintained backends need."""

    session_id: str | None = None
    tool: NonBlank
    managed_api_base_url: str | None = None
    managed_agent_ref: str | None = None

    def __post_init__(self) -> None:
        if (self.managed_api_base_url is None) != (self.managed_agent_ref is None):
            raise ValueError("managed_api_base_url and managed_agent_ref are set together or not at all")


class Attach(Strict, frozen=True, kw_only=True):
    """`attach.json`: derived from the manifest, never an authority over it."""

    schema_version: Literal[1] = 1
    attach_identity: NonBlank
    backend: Backend
    tmux_session_name: NonBlank
    working_directory: NonBlank
    backend_metadata: BackendMetadata
    manifest_path: str | None = None
    agent_def_dir: str | None = None
    runtime_session_id: str | None = None
    desired_host: Host | None = None
    desired_port: Port | None = None


class TrackingTimings(Strict, frozen=True, kw_only=True):
    watch_poll_interval_seconds: PositiveSeconds = 0.5
    stability_threshold_seconds: PositiveSeconds = 1.0
    completion_stability_seconds: PositiveSeconds = 1.0
    unknown_to_stalled_timeout_seconds: PositiveSeconds = 30.0
    stale_active_recovery_seconds: PositiveSeconds = 5.0
    final_stable_active_recovery_seconds: PositiveSeconds = 20.0


class DiagnosticLogging(Strict, frozen=True, kw_only=True):
    enabled: bool = False
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 30)] = 1 << 20
    backup_count: Annotated[int, msgspec.Meta(ge=0, le=100)] = 5


class DesiredConfig(Strict, frozen=True, kw_only=True):
    """`desired-config.json`: the desired settings for the next attach."""

    schema_version: Literal[1] = 1
    desired_host: Host | None = None
    desired_port: Port | None = None
    desired_execution_mode: ExecutionMode = "detached_process"
    desired_tui_tracking_timings: TrackingTimings | None = None
    desired_diagnostic_logging: DiagnosticLogging | None = None


class CurrentInstance(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """`run/current-instance.json`: the one live gateway process. Tmux fields only if it runs in a window."""

    schema_version: Literal[1]
    protocol_version: Literal["v1"]
    pid: PositiveInt
    host: Host
    port: Port
    execution_mode: ExecutionMode
    managed_agent_instance_epoch: PositiveInt
    managed_agent_instance_id: str | None
    tmux_window_id: str | None = None
    tmux_window_index: str | None = None
    tmux_pane_id: str | None = None

    def __post_init__(self) -> None:
        tmux = (self.tmux_window_id, self.tmux_window_index, self.tmux_pane_id)
        if self.execution_mode == "detached_process":
            if any(tmux):
                raise ValueError("a detached gateway has no tmux window")
        elif not all(tmux) or self.tmux_window_index == "0":
            raise ValueError("a gateway in a tmux window names its window and pane, and is never in window 0")


def gateway_manifest(attach: Attach, live: CurrentInstance | None) -> dict[str, Any]:
    """`gateway_manifest.json`: public facts about a gateway; live fields only while it runs."""
    published: dict[str, Any] = msgspec.to_builtins(attach)
    if live is None:
        return published
    published |= {
        "gateway_pid": live.pid,
        "gateway_host": live.host,
        "gateway_port": live.port,
        "gateway_protocol_version": live.protocol_version,
        "gateway_execution_mode": live.execution_mode,
    }
    if live.execution_mode == "tmux_auxiliary_window":
        published |= {
            "gateway_tmux_window_id": live.tmux_window_id,
            "gateway_tmux_window_index": live.tmux_window_index,
            "gateway_tmux_pane_id": live.tmux_pane_id,
        }
    return published


def offline_status(attach: Attach, desired_mode: ExecutionMode, *, queue_depth: int = 0) -> dict[str, Any]:
    """The status of a session that has no live gateway. It has no host, port or instance."""
    return {
        "schema_version": 1,
        "protocol_version": names.PROTOCOL_VERSION,
        "attach_identity": attach.attach_identity,
        "backend": attach.backend,
        "tmux_session_name": attach.tmux_session_name,
        "gateway_health": "not_attached",
        "managed_agent_connectivity": "unavailable",
        "managed_agent_recovery": "idle",
        "request_admission": "blocked_unavailable",
        "terminal_surface_eligibility": "unknown",
        "active_execution": "idle",
        "execution_mode": desired_mode,
        "queue_depth": queue_depth,
        "managed_agent_instance_epoch": 0,
    }
