"""Typed responses of a coordination server.

Unknown fields are ignored, so that newer servers stay readable; missing or mistyped fields are errors.
`contracts.managed_agents_http` has the same shapes for the server side; these structs import fast enough for
a command that takes tens of milliseconds.
"""

from typing import Any, Literal

import msgspec

Phase = Literal["ready", "active", "unknown"]
Availability = Literal["available", "unavailable", "error"]
TurnResult = Literal["success", "interrupted", "known_failure", "none", "unknown"]
TurnStatus = Literal["active", "completed", "failed", "interrupted", "unknown"]


class ServerResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Base of response values. Equality is by value."""


class Health(ServerResponse, frozen=True, kw_only=True):
    #: Identifies the service; None for another service.
    houmao_service: str | None = None


class Instance(ServerResponse, frozen=True, kw_only=True):
    """The server process and its folder."""

    schema_version: int
    status: str
    pid: int
    api_base_url: str
    server_root: str
    started_at_utc: str


class Done(ServerResponse, frozen=True, kw_only=True):
    status: str


class Identity(ServerResponse, frozen=True, kw_only=True):
    """The identity and the location of an agent."""

    tracked_agent_id: str
    transport: Literal["tui", "headless"]
    tool: str
    session_name: str | None
    terminal_id: str | None
    runtime_session_id: str | None
    tmux_session_name: str | None
    tmux_window_name: str | None
    manifest_path: str | None
    session_root: str | None
    agent_name: str | None
    agent_id: str | None
    lifecycle_state: str | None
    management_kind: str | None
    lifecycle_owner: str | None
    external_agent_id: str | None
    remote_pair_api_base_url: str | None
    remote_agent_ref: str | None


class AgentList(ServerResponse, frozen=True, kw_only=True):
    agents: tuple[Identity, ...]


class TurnPosture(ServerResponse, frozen=True, kw_only=True):
    phase: Phase
    active_turn_id: str | None


class LastTurn(ServerResponse, frozen=True, kw_only=True):
    result: TurnResult
    turn_id: str | None
    turn_index: int | None
    updated_at_utc: str | None


class Problem(ServerResponse, frozen=True, kw_only=True):
    kind: str
    message: str
    details: dict[str, Any] | None = None


class MailboxPosture(ServerResponse, frozen=True, kw_only=True):
    transport: str
    principal_id: str | None
    address: str | None


class GatewayPosture(ServerResponse, frozen=True, kw_only=True):
    gateway_health: str
    managed_agent_connectivity: str
    managed_agent_recovery: str
    request_admission: str
    active_execution: str
    queue_depth: int
    gateway_host: str | None
    gateway_port: int | None


class Summary(ServerResponse, frozen=True, kw_only=True):
    """The state of an agent, in terms common to both transports."""

    tracked_agent_id: str
    identity: Identity
    availability: Availability
    turn: TurnPosture
    last_turn: LastTurn
    diagnostics: tuple[Problem, ...]
    mailbox: MailboxPosture | None
    gateway: GatewayPosture | None
    memory_root: str | None
    memo_file: str | None
    pages_dir: str | None


class TuiDetail(ServerResponse, frozen=True, kw_only=True, tag_field="transport", tag="tui"):
    """The terminal state of a TUI; the parts have the gateway's shapes."""

    terminal_id: str
    canonical_terminal_state_route: str
    canonical_terminal_history_route: str
    diagnostics: dict[str, Any]
    probe_snapshot: dict[str, Any] | None
    parsed_surface: dict[str, Any] | None
    surface: dict[str, Any]
    stability: dict[str, Any]


class HeadlessDetail(ServerResponse, frozen=True, kw_only=True, tag_field="transport", tag="headless"):
    """The state of a headless agent."""

    runtime_resumable: bool
    tmux_session_live: bool
    can_accept_prompt_now: bool
    interruptible: bool
    chat_session: dict[str, Any] | None
    turn: TurnPosture
    last_turn: LastTurn
    active_turn_started_at_utc: str | None
    active_turn_interrupt_requested_at_utc: str | None
    last_turn_status: TurnStatus | None
    last_turn_started_at_utc: str | None
    last_turn_completed_at_utc: str | None
    last_turn_completion_source: str | None
    last_turn_returncode: int | None
    last_turn_history_summary: str | None
    last_turn_error: str | None
    mailbox: MailboxPosture | None
    gateway: GatewayPosture | None
    diagnostics: tuple[Problem, ...]


class Detail(ServerResponse, frozen=True, kw_only=True):
    """A summary with the details of the agent's transport."""

    tracked_agent_id: str
    identity: Identity
    summary_state: Summary
    detail: TuiDetail | HeadlessDetail


class HistoryEntry(ServerResponse, frozen=True, kw_only=True):
    recorded_at_utc: str
    summary: str
    availability: Availability
    turn_phase: Phase
    last_turn_result: TurnResult
    turn_id: str | None


class History(ServerResponse, frozen=True, kw_only=True):
    tracked_agent_id: str
    entries: tuple[HistoryEntry, ...]


class ManagedAccepted(ServerResponse, frozen=True, kw_only=True):
    """The result of a request. The turn fields are set only for headless turns."""

    success: bool
    tracked_agent_id: str
    request_id: str
    request_kind: str
    disposition: Literal["accepted", "no_op"]
    detail: str
    headless_turn_id: str | None = None
    headless_turn_index: int | None = None


class ActionDone(ServerResponse, frozen=True, kw_only=True):
    success: bool
    tracked_agent_id: str
    detail: str
    turn_id: str | None
    manifest_path: str | None = None
    session_root: str | None = None


class Launched(ServerResponse, frozen=True, kw_only=True):
    success: bool
    tracked_agent_id: str
    identity: Identity
    manifest_path: str
    session_root: str
    detail: str


class TurnAccepted(ServerResponse, frozen=True, kw_only=True):
    success: bool
    tracked_agent_id: str
    turn_id: str
    turn_index: int
    status: TurnStatus
    detail: str


class TurnReport(ServerResponse, frozen=True, kw_only=True):
    """The status and the outcome of a turn, from its artifacts."""

    tracked_agent_id: str
    turn_id: str
    turn_index: int
    status: TurnStatus
    started_at_utc: str
    completed_at_utc: str | None
    returncode: int | None
    completion_source: str | None
    stdout_path: str | None
    stderr_path: str | None
    status_path: str | None
    history_summary: str | None
    error: str | None


class TurnEvent(ServerResponse, frozen=True, kw_only=True):
    kind: str
    message: str
    turn_index: int
    timestamp_utc: str
    payload: dict[str, Any] | None


class TurnEvents(ServerResponse, frozen=True, kw_only=True):
    tracked_agent_id: str
    turn_id: str
    entries: tuple[TurnEvent, ...]
