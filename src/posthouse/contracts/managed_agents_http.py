"""Bodies of the coordination server's API: one set of routes for every managed agent.

Requests refuse unknown fields and other types. Answers write their nulls, except where a field is only there
in some cases; those models document it.
"""

from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, StringConstraints

from posthouse.contracts import identity
from posthouse.contracts.gateway_control_http import ChatState
from posthouse.contracts.gateway_http import (
    ChatSelector,
    Count,
    Execution,
    GatewayStatus,
    NonBlank,
    Query,
    Trimmed,
    Wire,
)
from posthouse.contracts.gateway_tui_http import (
    Diagnostics,
    ParsedSurface,
    Phase,
    ProbeSnapshot,
    Problem,
    Stability,
    SurfaceSignals,
)
from posthouse.contracts.registry import LifecycleState

Transport = Literal["tui", "headless"]
Availability = Literal["available", "unavailable", "error"]
TurnResult = Literal["success", "interrupted", "known_failure", "none", "unknown"]
TurnStatus = Literal["active", "completed", "failed", "interrupted", "unknown"]
RequestKind = Literal["submit_prompt", "interrupt"]
DisplayStyle = Literal["plain", "json", "fancy"]
DisplayDetail = Literal["concise", "detail"]
TurnIndex = Annotated[int, Field(ge=1)]
#: Omitted when empty.
_LEFT_OUT: Any = Field(default=None, exclude_if=lambda value: value is None)
_TOOL = "[a-z][a-z0-9_-]{0,63}"
Tool = Annotated[str, StringConstraints(pattern=f"^{_TOOL}$")]


class Identity(Wire):
    """Identity and location of an agent."""

    tracked_agent_id: str
    transport: Transport
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
    lifecycle_state: LifecycleState | None
    management_kind: Literal["local_lifecycle", "external_communication_only"] | None
    lifecycle_owner: Literal["local", "remote"] | None
    external_agent_id: str | None
    remote_pair_api_base_url: str | None
    remote_agent_ref: str | None


class AgentList(Wire):
    agents: tuple[Identity, ...]


class ListQuery(Query):
    """Filters of the agent list; a posthouse extension."""

    model_config = ConfigDict(extra="forbid")

    #: Running agents, or all registered ones.
    include: Literal["live", "all"] = "live"
    #: One of these tools, comma-separated.
    tool: Annotated[str, StringConstraints(pattern=f"^{_TOOL}(,{_TOOL}){{0,63}}$")] | None = None
    transport: Transport | None = None
    #: State in its record; states other than `active` and `relaunching` need `include=all`.
    state: LifecycleState | None = None
    #: A pattern such as `gpu-*`, for names with or without `HOUMAO-`.
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    #: Whether its record names a gateway, which may be dead.
    has_gateway: bool | None = None

    @property
    def matches_all(self) -> bool:
        """Whether the query matches every agent."""
        return self.model_fields_set <= {"include"}

    def matches(self, one: Identity, has_gateway: bool) -> bool:
        return (
            (self.tool is None or one.tool in self.tool.split(","))
            and self.transport in (None, one.transport)
            and self.state in (None, one.lifecycle_state)
            and self.has_gateway in (None, has_gateway)
            and (self.name is None or _matches_pattern(one.agent_name or "", self.name))
        )


def _matches_pattern(name: str, pattern: str) -> bool:
    return any(fnmatchcase(word, pattern) for word in {name, identity.canonical(name)})


class TurnPosture(Wire):
    phase: Phase
    active_turn_id: str | None


class LastTurn(Wire):
    result: TurnResult
    turn_id: str | None
    turn_index: int | None
    updated_at_utc: str | None


class MailboxPosture(Wire):
    """A mailbox without credentials."""

    transport: str
    principal_id: str | None
    address: str | None


class GatewayPosture(Wire):
    """Gateway status, without the fields for its own clients."""

    gateway_health: str
    managed_agent_connectivity: str
    managed_agent_recovery: str
    request_admission: str
    active_execution: str
    queue_depth: Count
    gateway_host: str | None
    gateway_port: int | None

    @classmethod
    def of(cls, status: GatewayStatus) -> Self:
        return cls(**{name: getattr(status, name) for name in cls.model_fields})


class Summary(Wire):
    """Agent status, common to both transports."""

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


class TuiDetail(Wire):
    """Terminal details of a TUI."""

    transport: Literal["tui"] = "tui"
    terminal_id: str
    canonical_terminal_state_route: str
    canonical_terminal_history_route: str
    diagnostics: Diagnostics
    probe_snapshot: ProbeSnapshot | None
    parsed_surface: ParsedSurface | None
    surface: SurfaceSignals
    stability: Stability


class HeadlessDetail(Wire):
    """Current and last turn of a headless agent."""

    transport: Literal["headless"] = "headless"
    runtime_resumable: bool
    tmux_session_live: bool
    can_accept_prompt_now: bool
    interruptible: bool
    chat_session: ChatState | None
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


class Detail(Wire):
    """A summary with transport-specific details."""

    tracked_agent_id: str
    identity: Identity
    summary_state: Summary
    detail: Annotated[TuiDetail | HeadlessDetail, Discriminator("transport")]


class HistoryEntry(Wire):
    recorded_at_utc: str
    summary: str
    availability: Availability
    turn_phase: Phase
    last_turn_result: TurnResult
    turn_id: str | None


class History(Wire):
    """Recent history of an agent, bounded and coarse."""

    tracked_agent_id: str
    entries: tuple[HistoryEntry, ...]


class HistoryQuery(Query):
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class ManagedHistoryQuery(Query):
    """As `HistoryQuery`, with a lower default on the newer path."""

    limit: Annotated[int, Field(ge=1, le=500)] = 50


class SubmitPrompt(Wire):
    """Give the agent a prompt, by the route that is currently safe."""

    request_kind: Literal["submit_prompt"]
    prompt: NonBlank
    execution: Execution | None = None


class Interrupt(Wire):
    """Interrupt the agent's running turn, if any."""

    request_kind: Literal["interrupt"]


ManagedRequest = Annotated[SubmitPrompt | Interrupt, Discriminator("request_kind")]


class ManagedAccepted(Wire):
    """Result of a request. The turn is set only when the request concerns one."""

    success: Literal[True] = True
    tracked_agent_id: str
    request_id: str
    request_kind: RequestKind
    disposition: Literal["accepted", "no_op"]
    detail: str
    headless_turn_id: str | None = _LEFT_OUT
    headless_turn_index: int | None = _LEFT_OUT


class ActionDone(Wire):
    """An agent was stopped, or its turn interrupted. Paths are set when known."""

    success: Literal[True] = True
    tracked_agent_id: str
    detail: str
    turn_id: str | None
    manifest_path: str | None = _LEFT_OUT
    session_root: str | None = _LEFT_OUT


class LaunchMailbox(Wire):
    """The mailbox of a new agent."""

    transport: Literal["filesystem", "stalwart"]
    filesystem_root: NonBlank | None = None
    principal_id: NonBlank | None = None
    address: NonBlank | None = None
    stalwart_base_url: NonBlank | None = None
    stalwart_jmap_url: NonBlank | None = None
    stalwart_management_url: NonBlank | None = None
    stalwart_login_identity: NonBlank | None = None


class HeadlessLaunch(Wire):
    """Start a headless agent that this server owns."""

    tool: Tool
    working_directory: NonBlank
    agent_def_dir: NonBlank
    brain_manifest_path: NonBlank
    role_name: NonBlank
    agent_name: NonBlank | None = None
    agent_id: NonBlank | None = None
    headless_display_style: DisplayStyle | None = None
    headless_display_detail: DisplayDetail | None = None
    mailbox: LaunchMailbox | None = None


class Launched(Wire):
    success: Literal[True] = True
    tracked_agent_id: str
    identity: Identity
    manifest_path: str
    session_root: str
    detail: str


class TurnRequest(Wire):
    """Start one turn of a headless agent."""

    prompt: Trimmed
    chat_session: ChatSelector | None = None
    execution: Execution | None = None


class TurnAccepted(Wire):
    """The turn's record is on disk."""

    success: Literal[True] = True
    tracked_agent_id: str
    turn_id: str
    turn_index: TurnIndex
    status: TurnStatus
    detail: str


class TurnReport(Wire):
    """Status of a turn, from its artifacts."""

    tracked_agent_id: str
    turn_id: str
    turn_index: TurnIndex
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


class TurnEvent(Wire):
    kind: str
    message: str
    turn_index: int
    timestamp_utc: str
    payload: dict[str, Any] | None


class TurnEvents(Wire):
    tracked_agent_id: str
    turn_id: str
    entries: tuple[TurnEvent, ...]


class ServerHealth(Wire):
    """Server health. Clients identify the server by `houmao_service`."""

    status: Literal["ok"] = "ok"
    houmao_service: Literal["houmao-passive-server"] = "houmao-passive-server"


class ServerInstance(Wire):
    """`run/current-instance.json`, and the route that returns it."""

    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    status: Literal["ok"] = "ok"
    pid: int
    api_base_url: str
    server_root: str
    started_at_utc: str


class Done(Wire):
    status: Literal["ok"] = "ok"


class Ambiguous(Wire):
    """Reason of a refusal; for an ambiguous name also the matching agents."""

    detail: str
    agent_ids: list[str] | None = _LEFT_OUT
