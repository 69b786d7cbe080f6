"""Bodies of the gateway's mail notifier routes."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from posthouse.contracts.gateway_http import Count, SchemaVersion, Trimmed, Wire

Mode = Literal["any_inbox", "unread_only"]
ContextErrorPolicy = Literal["continue_current", "clear_context"]
PreNotificationAction = Literal["none", "compact"]
Render = Literal["enabled", "disabled"]
AuthMode = Literal["permissive-log", "required"]
Verifier = Literal["none", "shared-token"]
Wake = Literal["interval", "immediate"]
Step = Literal["waiting", "notified", "read", "answered"]

#: A hundred years: later times overflow the date range.
_MAX_SECONDS = 100 * 366 * 86_400
_MAX_APPENDIX_CHARS = 16_384
_MAX_TOKENS = 1000


def _only_true(value: bool) -> bool:
    if not value:
        raise ValueError("enabled can only be true here; DELETE disables the notifier")
    return value


Token = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Chars = Annotated[int, Field(gt=0, le=1 << 20)]


class PutNotifier(Wire):
    """Enable the notifier. An omitted appendix or notice setting keeps its value."""

    schema_version: SchemaVersion = 1
    enabled: Annotated[bool, AfterValidator(_only_true)] = True
    interval_seconds: Annotated[int, Field(gt=0, le=_MAX_SECONDS)]
    mode: Mode = "any_inbox"
    #: Omitted: unchanged. Empty: none.
    appendix_text: Annotated[str, Field(max_length=_MAX_APPENDIX_CHARS)] = ""
    context_error_policy: ContextErrorPolicy = "continue_current"
    pre_notification_context_action: PreNotificationAction = "none"
    notify_block_render: Render | None = None
    notify_block_auth_mode: AuthMode | None = None
    notify_block_auth_verifier: Verifier | None = None
    notify_block_shared_tokens: Annotated[list[Token], Field(max_length=_MAX_TOKENS)] | None = None
    notify_block_per_message_chars: Chars | None = None
    notify_block_total_chars: Chars | None = None


class NotifierStatus(Wire):
    """Settings of the notifier and the times of its last actions."""

    schema_version: SchemaVersion = 1
    enabled: bool
    interval_seconds: int | None
    mode: Mode
    appendix_text: str
    context_error_policy: ContextErrorPolicy
    pre_notification_context_action: PreNotificationAction
    notify_block_render: Render
    notify_block_auth_mode: AuthMode
    notify_block_auth_verifier: Verifier
    notify_block_shared_tokens: list[str]
    notify_block_per_message_chars: int
    notify_block_total_chars: int
    supported: bool
    support_error: str | None
    last_poll_at_utc: str | None
    last_notification_at_utc: str | None
    last_error: str | None


class WakeSettings(Wire):
    """Posthouse extension: when mail wakes the agent, and the backoff for unchanged mail."""

    schema_version: SchemaVersion = 1
    #: `immediate`: new mail wakes an idle agent at once, independent of the interval.
    wake: Wake = "interval"
    #: Backoff for unchanged mail: 1, 2, 4 … intervals, up to this many seconds. None: every interval.
    backoff_max_seconds: Annotated[int, Field(gt=0, le=_MAX_SECONDS)] | None = None
    #: Wake-ups without a reaction before the operator mailbox gets a note. None: never.
    operator_note_after: Annotated[int, Field(gt=0, le=1_000_000)] | None = 10


class MailProgress(Wire):
    """Progress of one message in this mailbox, for its sender."""

    schema_version: SchemaVersion = 1
    message_ref: Trimmed
    address: str
    step: Step
    #: Human-readable reason why it has not progressed.
    reason: str | None
    first_notified_at_utc: str | None
    last_notified_at_utc: str | None
    wake_count: Count


class AskProgress(Wire):
    schema_version: SchemaVersion = 1
    message_ref: Trimmed
