"""The order of one turn, stored in `order.json` and `prompt.txt`. It must not contain secrets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from posthouse.contracts.events import Detail, Style
from posthouse.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The program of one turn and its settings."""

    turn_id: str
    turn_index: int
    tool: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: The program's stdin. None: stdin is empty.
    stdin: str | None = None
    working_directory: str
    style: Style = "plain"
    detail: Detail = "concise"
    #: None: no limit.
    time_limit_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.turn_id or self.turn_id.startswith(".") or "/" in self.turn_id:
            raise _bad_order(f"turn id {self.turn_id!r} cannot name a folder; use turn-<12 hex digits>")
        if not self.argv:
            raise _bad_order("a turn needs a program to run; argv is empty")
        if self.time_limit_seconds is not None and self.time_limit_seconds <= 0:
            raise _bad_order(
                f"invalid time limit: {self.time_limit_seconds} s; must be positive, or omitted for none"
            )
        self._check_texts()

    def _check_texts(self) -> None:
        for text in (*self.argv, *self.environment, *self.environment.values(), self.working_directory):
            _require_encodable(text, "an argument, a variable or the working directory", errors="strict")
            if "\0" in text:
                raise _bad_order("an argument, a variable or the working directory holds a NUL character")
        # A prompt from a command line may contain bytes that are not UTF-8; they are passed on unchanged.
        _require_encodable(self.stdin or "", "the prompt", errors="surrogateescape")

    def to_record(self) -> dict[str, Any]:
        """The content of `order.json`. The prompt is in its own file, which becomes stdin."""
        record = asdict(self)
        record["has_stdin"] = record.pop("stdin") is not None
        return record

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "Order":
        """Parse `order.json`, without the prompt, which only the program reads."""
        fields = {key: value for key, value in record.items() if key != "has_stdin"}
        return Order(**{**fields, "argv": tuple(fields["argv"])})


def _bad_order(message: str) -> InvalidInput:
    """The error for an order that cannot be run; nothing was written."""
    return InvalidInput(message, code="bad_turn_order")


def _require_encodable(text: str, what: str, *, errors: str) -> None:
    try:
        text.encode(errors=errors)
    except UnicodeEncodeError as error:
        raise _bad_order(f"{what} cannot be written as UTF-8: {error.reason}") from None
