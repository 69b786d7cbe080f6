"""Bodies of the gateway's control routes: prompts, raw keys, and the state of headless agents."""

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from posthouse.contracts.gateway_http import (
    ChatSelector,
    Count,
    Execution,
    NonBlank,
    SchemaVersion,
    Wire,
)

AdmissionPolicy = Literal["ready_only", "if_no_pending", "always"]
PromptRefusalCode = Literal[
    "unsupported_backend",
    "blocked_reconciliation",
    "unavailable",
    "invalid_chat_session",
    "invalid_execution",
    "not_ready",
    "missing_current_chat_session",
    "dispatch_failed",
]
#: The schema version to which a field belongs.
_OF_VERSION = {"force": 1, "admission_policy": 2}


class ControlPrompt(Wire):
    """Give the agent a prompt now, or refuse with a reason.

    Version 1 has `force`, version 2 has `admission_policy` instead; each gets a response in its own shape.
    """

    # First, because the validators of the fields below read it.
    schema_version: Annotated[int, Field(ge=1, le=2)] = 1
    prompt: NonBlank
    force: bool = False
    admission_policy: AdmissionPolicy = "ready_only"
    chat_session: ChatSelector | None = None
    execution: Execution | None = None

    @field_validator("force", "admission_policy", mode="before")
    @classmethod
    def _belongs_to_its_version(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("schema_version", 1) != _OF_VERSION[str(info.field_name)]:
            raise PydanticCustomError("extra_forbidden", "Extra inputs are not permitted")
        return value

    @property
    def policy(self) -> AdmissionPolicy:
        """The admission policy of either version."""
        return "always" if self.force else self.admission_policy


class Sent(Wire):
    """The prompt was given to the agent; response to version 1."""

    status: Literal["ok"] = "ok"
    action: Literal["submit_prompt"] = "submit_prompt"
    sent: Literal[True] = True
    forced: bool
    detail: NonBlank


class SentUnderPolicy(Wire):
    """The prompt was given to the agent; response to version 2."""

    status: Literal["ok"] = "ok"
    action: Literal["submit_prompt"] = "submit_prompt"
    sent: Literal[True] = True
    admission_policy: AdmissionPolicy
    detail: NonBlank


class PromptSent(RootModel[Sent | SentUnderPolicy]):
    """The response in the request's schema version."""


class NotSent(Wire):
    """The prompt was not given to the agent; response to version 1."""

    status: Literal["error"] = "error"
    action: Literal["submit_prompt"] = "submit_prompt"
    sent: Literal[False] = False
    forced: bool
    error_code: PromptRefusalCode
    detail: NonBlank


class NotSentUnderPolicy(Wire):
    """The prompt was not given to the agent; response to version 2."""

    status: Literal["error"] = "error"
    action: Literal["submit_prompt"] = "submit_prompt"
    sent: Literal[False] = False
    admission_policy: AdmissionPolicy
    error_code: PromptRefusalCode
    detail: NonBlank


class PromptRefusal(Wire):
    """Why the prompt was not sent, in the request's schema version."""

    detail: NotSent | NotSentUnderPolicy


class SendKeys(Wire):
    """Type raw keys into the agent's terminal. It has no schema version."""

    sequence: NonBlank
    #: Type everything literally, including `<[Enter]>`.
    escape_special_keys: bool = False


class KeysSent(Wire):
    """The keys were typed. Their effect is not checked."""

    status: Literal["ok"] = "ok"
    action: Literal["control_input"] = "control_input"
    detail: NonBlank


class NextPromptSession(Wire):
    """Make the next direct prompt without a chat selector start a new conversation."""

    schema_version: SchemaVersion = 1
    mode: Literal["new"]


class CurrentChat(Wire):
    id: NonBlank


class StartupChat(Wire):
    """Selection of the first conversation."""

    mode: Literal["new", "tool_last_or_new", "exact"]
    id: NonBlank | None = None


class PromptOverride(Wire):
    mode: Literal["new"] = "new"


class ChatState(Wire):
    """Sources for the next prompt's conversation, in order of precedence."""

    current: CurrentChat | None
    startup_default: StartupChat
    next_prompt_override: PromptOverride | None


class HeadlessControlState(Wire):
    """Operations that a headless agent currently accepts."""

    schema_version: SchemaVersion = 1
    runtime_resumable: bool
    tmux_session_live: bool
    can_accept_prompt_now: bool
    interruptible: bool
    chat_session: ChatState
    request_admission: Literal["open", "blocked_unavailable", "blocked_reconciliation"]
    active_execution: Literal["idle", "running"]
    queue_depth: Count
    active_turn_id: str | None
