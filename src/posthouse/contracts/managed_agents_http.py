"""What crosses the coordination server's door, both ways: every managed agent under one set of routes.

Requests refuse unknown fields and other types. Answers write their nulls, except where a field is only there
in some cases; those models say so.
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
#: Not written at all when there is nothing to say.
_LEFT_OUT: Any = Field(default=None, exclude_if=lambda value: value is None)
_TOOL = "[a-z][a-z0-9_-]{0,63}"
Tool = Annotated[str, StringConstraints(pattern=f"^{_TOOL}$")]


class Identity(Wire):
    """Who an agent is, and where it is to be found."""

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
    """Which agents are asked for; ours."""

    model_config = ConfigDict(extra="forbid")

    #: Those that run, or everybody who is registered.
    include: Literal["live", "all"] = "live"
    #: One of these tools, with commas between them.
    tool: Annotated[str, StringConstraints(pattern=f"^{_TOOL}(,{_TOOL}){{0,63}}$")] | None = None
    transport: Transport | None = None
    #: What its record says; all but `active` and `relaunching` are only found with `include=all`.
    state: LifecycleState | None = None
    #: A pattern such as `gpu-*`, for names with or without `HOUMAO-`.
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    #: Whether its record names a gateway, which may be dead.
    has_gateway: bool | None = None

    @property
    def wants_everybody(self) -> bool:
        """Whether every agent fits."""
        return self.model_fields_set <= {"include"}

    def fits(self, one: Identity, has_gateway: bool) -> bool:
        return (
            (self.tool is None or one.tool in self.tool.split(","))
            and self.transport in (None, one.transport)
            and self.state in (None, one.lifecycle_state)
            and self.has_gateway in (None, has_gateway)
            and (self.name is None or _is_called(one.agent_name or "", self.name))
        )


def _is_called(name: str, pattern: str) -> bool:
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
    """A mailbox without anything that opens it."""

    transport: str
    principal_id: str | None
    address: str | None


class GatewayPosture(Wire):
    """A gateway without what only its own clients need."""

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
    """How an agent is, in words that fit both transports."""

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
    """What is known of a TUI's terminal."""

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
    """What a headless agent does and did."""

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
    """A summary with what is particular to the agent's transport."""

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
    """What lately became of an agent; bounded and coarse."""

    tracked_agent_id: str
    entries: tuple[HistoryEntry, ...]


class HistoryQuery(Query):
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class ManagedHistoryQuery(Query):
    """The same on the newer path, which is content with less."""

    limit: Annotated[int, Field(ge=1, le=500)] = 50


class SubmitPrompt(Wire):
    """Give the agent a prompt, whichever way is safe now."""

    request_kind: Literal["submit_prompt"]
    prompt: NonBlank
    execution: Execution | None = None


class Interrupt(Wire):
    """Interrupt what the agent does, if it does anything."""

    request_kind: Literal["interrupt"]


ManagedRequest = Annotated[SubmitPrompt | Interrupt, Discriminator("request_kind")]


class ManagedAccepted(Wire):
    """What a request came to. The turn is named only when it is about one."""

    success: Literal[True] = True
    tracked_agent_id: str
    request_id: str
    request_kind: RequestKind
    disposition: Literal["accepted", "no_op"]
    detail: str
    headless_turn_id: str | None = _LEFT_OUT
    headless_turn_index: int | None = _LEFT_OUT


class ActionDone(Wire):
    """An agent was stopped, or its turn interrupted. The paths are there when they are known."""

    success: Literal[True] = True
    tracked_agent_id: str
    detail: str
    turn_id: str | None
    manifest_path: str | None = _LEFT_OUT
    session_root: str | None = _LEFT_OUT


class LaunchMailbox(Wire):
    """Which mailbox a new agent gets."""

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


class TurnOrder(Wire):
    """Have a headless agent take one turn."""

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
    """What became of a turn, as its artifacts tell."""

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
    """By `houmao_service` clients know whom they found."""

    status: Literal["ok"] = "ok"
    houmao_service: Literal["houmao-passive-server"] = "houmao-passive-server"


class ServerInstance(Wire):
    """`run/current-instance.json`, and the route that answers the same."""

    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    status: Literal["ok"] = "ok"
    pid: int
    api_base_url: str
    server_root: str
    started_at_utc: str


class Done(Wire):
    status: Literal["ok"] = "ok"


class Ambiguous(Wire):
    """Why something was refused; where more than one agent answers to a name, also which."""

    detail: str
    agent_ids: list[str] | None = _LEFT_OUT
