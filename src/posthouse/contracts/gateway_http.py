"""Request and response bodies of the gateway's HTTP API.

Requests refuse unknown fields and other types. Answers write their nulls.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, model_validator

from posthouse.contracts.gateway_files import ExecutionMode, Host
from posthouse.contracts.manifest import Backend

NonBlank = Annotated[str, StringConstraints(pattern=r"\S")]
Trimmed = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
#: It becomes a folder name.
TurnId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")]
Count = Annotated[int, Field(ge=0)]
#: Not a Literal, which would accept `true` and `1.0` as 1.
SchemaVersion = Annotated[int, Field(ge=1, le=1)]

ChatMode = Literal["auto", "new", "current", "tool_last_or_new", "exact"]
RequestKind = Literal["submit_prompt", "interrupt"]


class Wire(BaseModel):
    """A value on the wire: unknown fields are refused and nothing is coerced.

    Validators are built at first use: a process needs only a few of more than a hundred models to start.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Query(BaseModel):
    """Query parameters: text is coerced, unknown names are ignored."""

    model_config = ConfigDict(defer_build=True)


class ChatSelector(Wire):
    """Which of the provider's conversations a prompt continues."""

    mode: ChatMode
    id: NonBlank | None = None

    @model_validator(mode="after")
    def _id_goes_with_exact(self) -> Self:
        if (self.mode == "exact") != (self.id is not None):
            raise ValueError("id goes with mode exact, and only with it")
        return self


class Reasoning(Wire):
    level: Count


class ModelSelection(Wire):
    name: Trimmed | None = None
    reasoning: Reasoning | None = None

    @model_validator(mode="after")
    def _selects_something(self) -> Self:
        if self.name is None and self.reasoning is None:
            raise ValueError("give a name, a reasoning level, or both")
        return self


class Execution(Wire):
    """Overrides that hold for one headless turn."""

    model: ModelSelection


class SubmitPromptPayload(Wire):
    prompt: NonBlank
    turn_id: TurnId | None = None
    chat_session: ChatSelector | None = None
    execution: Execution | None = None


class InterruptPayload(Wire):
    """Empty: an interrupt has no parameters."""


class SubmitPromptRequest(Wire):
    """Queue a prompt for the agent."""

    schema_version: SchemaVersion = 1
    kind: Literal["submit_prompt"]
    payload: SubmitPromptPayload


class InterruptRequest(Wire):
    """Interrupt the running turn."""

    schema_version: SchemaVersion = 1
    kind: Literal["interrupt"]
    payload: InterruptPayload


Request = Annotated[SubmitPromptRequest | InterruptRequest, Discriminator("kind")]


class ReconciliationRequest(Wire):
    """Decide about the requests that wait for a replaced agent."""

    schema_version: SchemaVersion = 1
    decision: Literal["replay", "discard"]
    #: The epoch the decision is about; it is refused when another one is current.
    managed_agent_instance_epoch: Annotated[int, Field(ge=1)] | None = None


class ReconciliationResult(Wire):
    """The decision and the affected requests."""

    schema_version: SchemaVersion = 1
    decision: Literal["replay", "discard"]
    managed_agent_instance_epoch: Count
    decided_at_utc: str
    request_ids: list[str]


class Health(Wire):
    """The gateway responds. The agent is not checked."""

    protocol_version: Literal["v1"] = "v1"
    status: Literal["ok"] = "ok"


class AcceptedRequest(Wire):
    """The request is on disk."""

    request_id: str
    request_kind: RequestKind
    state: Literal["accepted"] = "accepted"
    accepted_at_utc: str
    queue_depth: Count
    managed_agent_instance_epoch: Count


class GatewayStatus(Wire):
    """Status of a live gateway and its agent; also `state.json`."""

    schema_version: SchemaVersion = 1
    protocol_version: Literal["v1"] = "v1"
    attach_identity: NonBlank
    backend: Backend
    tmux_session_name: NonBlank
    gateway_health: Literal["healthy", "not_attached"]
    managed_agent_connectivity: Literal["connected", "unavailable"]
    managed_agent_recovery: Literal["idle", "awaiting_rebind", "reconciliation_required"]
    request_admission: Literal["open", "blocked_unavailable", "blocked_reconciliation"]
    terminal_surface_eligibility: Literal["ready", "unknown", "not_ready"]
    active_execution: Literal["idle", "running"]
    execution_mode: ExecutionMode = "detached_process"
    queue_depth: Count
    gateway_host: Host | None = None
    gateway_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    gateway_tmux_window_id: str | None = None
    gateway_tmux_window_index: str | None = None
    gateway_tmux_pane_id: str | None = None
    managed_agent_instance_epoch: Count
    managed_agent_instance_id: str | None = None


class Refusal(Wire):
    """Human-readable reason of a refusal."""

    detail: str


class InvalidField(BaseModel):
    """One validation error of a request."""

    model_config = ConfigDict(defer_build=True)

    type: str
    loc: list[str | int]
    msg: str
    input: Any = None
    ctx: dict[str, Any] | None = None


class Invalid(BaseModel):
    """The request does not match the schema."""

    model_config = ConfigDict(defer_build=True)

    detail: list[InvalidField]
