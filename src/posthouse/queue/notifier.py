"""The mail notifier's data in the queue's database: settings, polls and wake-ups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from posthouse.queue.queue import Accepted, Request

Outcome = Literal[
    "empty",
    "dedup_skip",
    "busy_skip",
    "enqueued",
    "pre_notification_context_error",
    "context_recovery_error",
    "poll_error",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the notifier."""

    enabled: bool = False
    interval_seconds: int | None = None
    mode: Literal["any_inbox", "unread_only"] = "any_inbox"
    appendix_text: str = ""
    context_error_policy: Literal["continue_current", "clear_context"] = "continue_current"
    pre_notification_context_action: Literal["none", "compact"] = "none"
    notify_block_render: Literal["enabled", "disabled"] = "enabled"
    notify_block_auth_mode: Literal["permissive-log", "required"] = "permissive-log"
    notify_block_auth_verifier: Literal["none", "shared-token"] = "none"
    notify_block_shared_tokens: tuple[str, ...] = ()
    notify_block_per_message_chars: int = 512
    notify_block_total_chars: int = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierHistory:
    """The last actions of the notifier."""

    updated_at_utc: str
    last_poll_at_utc: str | None = None
    last_notification_at_utc: str | None = None
    last_notified_digest: str | None = None
    compacted_refs: tuple[str, ...] = ()
    last_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRule:
    """When mail wakes the agent, in addition to the contract's settings."""

    wake: Literal["interval", "immediate"] = "interval"
    backoff_max_seconds: int | None = None
    operator_note_after: int | None = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of the mailbox and its outcome."""

    outcome: Outcome
    settings: Settings
    request_admission: str
    active_execution: str
    queue_depth: int
    #: None: the mailbox was unreadable.
    eligible: Sequence[Mapping[str, Any]] | None = None
    digest: str | None = None
    detail: str | None = None
    #: Shown in the status until the next poll.
    error: str | None = None
    #: The messages in the enqueued prompt.
    refs: tuple[str, ...] = ()
    context_action_outcome: str | None = None
    degraded_tool_name: str | None = None
    degraded_error_type: str | None = None
    blocks: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRecord:
    """How often the agent was woken for one message."""

    message_ref: str
    first_at_utc: str
    last_at_utc: str
    count: int
    is_noted: bool


class NotifierStore(Protocol):
    """Storage of the notifier in the queue's database. Writes are on disk when a call returns.

    Every call raises `QueueUnavailable` when the database can't be written; nothing was changed then.
    """

    async def load(self) -> tuple[Settings, NotifierHistory]: ...

    async def save_settings(self, settings: Settings) -> None: ...

    async def disable(self) -> None:
        """Disable the notifier and clear the interval; other settings stay."""

    async def record_poll(self, poll: Poll, request: "Request | None" = None) -> "Accepted | None":
        """Write the audit row of *poll* and, atomically with it, accept *request* if given."""

    async def record_compacted(self, refs: Sequence[str]) -> None:
        """Record the messages for which the conversation was compacted."""

    async def wake_rule(self) -> WakeRule: ...

    async def save_wake_rule(self, rule: WakeRule) -> None: ...

    async def wake_records(self, refs: Iterable[str]) -> dict[str, WakeRecord]:
        """Wake records by message; messages without a wake-up are missing."""

    async def record_operator_notes(self, refs: Iterable[str]) -> None:
        """Record that the operator was notified about these messages."""
