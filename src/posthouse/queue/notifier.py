"""What the queue's file keeps of the mail notifier: its settings, every poll, and who was woken for what."""

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
    """How the notifier is set."""

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
class Past:
    """What the notifier did last."""

    updated_at_utc: str
    last_poll_at_utc: str | None = None
    last_notification_at_utc: str | None = None
    last_notified_digest: str | None = None
    compacted_refs: tuple[str, ...] = ()
    last_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRule:
    """When mail wakes the agent, beyond what the contract's settings say."""

    wake: Literal["interval", "immediate"] = "interval"
    backoff_max_seconds: int | None = None
    operator_note_after: int | None = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One look of the notifier at the mailbox, and what it came to."""

    outcome: Outcome
    settings: Settings
    request_admission: str
    active_execution: str
    queue_depth: int
    #: None: the mailbox could not be read.
    eligible: Sequence[Mapping[str, Any]] | None = None
    digest: str | None = None
    detail: str | None = None
    #: What stands in the status until the next poll.
    error: str | None = None
    #: The messages that the enqueued prompt is about.
    refs: tuple[str, ...] = ()
    context_action_outcome: str | None = None
    degraded_tool_name: str | None = None
    degraded_error_type: str | None = None
    blocks: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wakes:
    """How often the agent was woken for one message."""

    message_ref: str
    first_at_utc: str
    last_at_utc: str
    count: int
    is_noted: bool


class NotifierBook(Protocol):
    """The notifier's part of the file. A call that returns is on disk.

    Raises `QueueUnavailable` from every call when the disk says no; nothing was changed then.
    """

    async def load(self) -> tuple[Settings, Past]: ...

    async def keep(self, settings: Settings) -> None: ...

    async def disable(self) -> None:
        """Keep every setting but the interval."""

    async def record(self, poll: Poll, request: "Request | None" = None) -> "Accepted | None":
        """Write the audit row of *poll* and, with a *request*, accept that request, both or neither."""

    async def compacted(self, refs: Sequence[str]) -> None:
        """Remember for which messages the conversation was compacted."""

    async def rule(self) -> WakeRule: ...

    async def keep_rule(self, rule: WakeRule) -> None: ...

    async def wakes(self, refs: Iterable[str]) -> dict[str, Wakes]:
        """What is known of these messages; nothing for those that nobody was woken for."""

    async def noted(self, refs: Iterable[str]) -> None:
        """Remember that the operator was told of these."""
