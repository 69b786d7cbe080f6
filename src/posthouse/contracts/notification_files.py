"""`notify/` in a gateway's folder: notification targets and their delivery state. A posthouse extension."""

from typing import Annotated, Literal

import msgspec

from posthouse.contracts.strict import NonBlank, Strict

FOLDER = "notify"
TARGETS = "targets.json"
LOCK = "targets.lock"

Occasion = Literal["finished", "failed", "blocked", "limited"]
OCCASIONS: tuple[Occasion, ...] = ("finished", "failed", "blocked", "limited")
TargetId = Annotated[str, msgspec.Meta(pattern=r"^tell-[0-9a-f]{8}$")]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=600)]


class Target(Strict, frozen=True, kw_only=True):
    """One command or webhook, and the events it receives."""

    target_id: TargetId
    occasions: Annotated[list[Occasion], msgspec.Meta(min_length=1)]
    #: Run without a shell, with the notice on its standard input.
    command: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    #: Receives the notice by POST, signed with the secret in `<target_id>.secret`.
    url: NonBlank | None = None
    timeout_seconds: Seconds = 30.0
    created_at_utc: NonBlank

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ValueError("a target is a command or a url")

    @property
    def kind(self) -> Literal["command", "webhook"]:
        return "webhook" if self.command is None else "command"


class Targets(Strict, frozen=True, kw_only=True):
    """`targets.json`: the configured targets."""

    schema_version: Literal[1] = 1
    targets: list[Target] = msgspec.field(default_factory=list)


class LastNotice(Strict, frozen=True, kw_only=True):
    """Result of the last delivery attempt."""

    event_id: str
    occasion: Occasion
    outcome: Literal["delivered", "given_up"]
    attempts: int
    #: The end of the command's output, a status, or the connection error.
    detail: str
    at_utc: str


class TargetState(Strict, frozen=True, kw_only=True):
    """`<target_id>.state.json`: delivery position of one target. If lost, events may be sent again."""

    schema_version: Literal[1] = 1
    #: The last delivered event id.
    after: str
    delivered: int = 0
    given_up: int = 0
    last: LastNotice | None = None
