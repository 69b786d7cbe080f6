"""Bodies of the gateway's reminder routes."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from posthouse.contracts.gateway_http import NonBlank, SchemaVersion, Wire
from posthouse.support import clock

Mode = Literal["one_off", "repeat"]
DeliveryKind = Literal["prompt", "send_keys"]
SelectionState = Literal["effective", "blocked"]
DeliveryState = Literal["scheduled", "overdue", "executing"]
#: A hundred years: later times overflow the date range.
Seconds = Annotated[float, Field(gt=0, le=100 * 366 * 86_400, allow_inf_nan=False)]
#: Limits a ranking to the range that other programs can store.
Ranking = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class ReminderKeys(Wire):
    """Raw keys to type when the reminder is due."""

    sequence: NonBlank
    #: Ensure exactly one Enter at the end.
    ensure_enter: bool = True


class ReminderDefinition(Wire):
    """What to deliver to the agent, and when."""

    mode: Mode
    title: NonBlank
    prompt: NonBlank | None = None
    send_keys: ReminderKeys | None = None
    ranking: Ranking
    paused: bool = False
    start_after_seconds: Seconds | None = None
    deliver_at_utc: str | None = None
    interval_seconds: Seconds | None = None

    @field_validator("deliver_at_utc")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                clock.parse(value)
            except (ValueError, OverflowError):
                raise ValueError("not an ISO-8601 time") from None
        return value

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.prompt is None) == (self.send_keys is None):
            raise ValueError("give exactly one of prompt and send_keys")
        if (self.start_after_seconds is None) == (self.deliver_at_utc is None):
            raise ValueError("give exactly one of start_after_seconds and deliver_at_utc")
        if (self.mode == "repeat") != (self.interval_seconds is not None):
            raise ValueError("interval_seconds goes with mode repeat, and only with it")
        return self


class CreateReminders(Wire):
    schema_version: SchemaVersion = 1
    reminders: Annotated[list[ReminderDefinition], Field(min_length=1)]


class PutReminder(ReminderDefinition):
    """A complete replacement definition."""

    schema_version: SchemaVersion = 1


class Reminder(Wire):
    """Current state of one reminder."""

    schema_version: SchemaVersion = 1
    reminder_id: str
    mode: Mode
    delivery_kind: DeliveryKind
    title: str
    prompt: str | None
    send_keys: ReminderKeys | None
    ranking: int
    paused: bool
    selection_state: SelectionState
    delivery_state: DeliveryState
    created_at_utc: str
    next_due_at_utc: str
    interval_seconds: float | None
    last_started_at_utc: str | None
    #: For a blocked reminder, the effective reminder that blocks it.
    blocked_by_reminder_id: str | None


class Reminders(Wire):
    """Reminders, and the next deliverable one."""

    schema_version: SchemaVersion = 1
    effective_reminder_id: str | None
    reminders: list[Reminder]


class ReminderDeleted(Wire):
    schema_version: SchemaVersion = 1
    status: Literal["ok"] = "ok"
    action: Literal["delete_reminder"] = "delete_reminder"
    reminder_id: str
    deleted: Literal[True] = True
    detail: NonBlank
