"""What one turn is asked to run, as `order.json` and `prompt.txt` keep it. Nothing in it is secret."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from posthouse.contracts.events import Detail, Style
from posthouse.errors import InvalidInput


class BadOrder(InvalidInput):
    """The turn cannot be run as ordered; nothing was written."""

    code = "bad_turn_order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One turn before it runs."""

    turn_id: str
    turn_index: int
    tool: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Fed to the program, whose stdin then ends. None: stdin is empty.
    stdin: str | None = None
    working_directory: str
    style: Style = "plain"
    detail: Detail = "concise"
    #: None: it may take as long as it takes.
    time_limit_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.turn_id or self.turn_id.startswith(".") or "/" in self.turn_id:
            raise BadOrder(f"turn id {self.turn_id!r} cannot name a folder; use turn-<12 hex digits>")
        if not self.argv:
            raise BadOrder("a turn needs a program to run; argv is empty")
        if self.time_limit_seconds is not None and self.time_limit_seconds <= 0:
            raise BadOrder(
                f"a time limit of {self.time_limit_seconds} s leaves no time; leave it out for none"
            )
        self._check_texts()

    def _check_texts(self) -> None:
        for text in (*self.argv, *self.environment, *self.environment.values(), self.working_directory):
            _require_encodable(text, "an argument, a variable or the working directory", errors="strict")
            if "\0" in text:
                raise BadOrder("an argument, a variable or the working directory holds a NUL character")
        # A prompt from a command line may hold bytes that are not UTF-8, and hands them on as they came.
        _require_encodable(self.stdin or "", "the prompt", errors="surrogateescape")

    def to_record(self) -> dict[str, Any]:
        """The content of `order.json`; the prompt lies beside it, ready to be somebody's stdin."""
        record = asdict(self)
        record["has_stdin"] = record.pop("stdin") is not None
        return record

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "Order":
        """Read `order.json` back, without the prompt, which only the program reads."""
        fields = {key: value for key, value in record.items() if key != "has_stdin"}
        return Order(**{**fields, "argv": tuple(fields["argv"])})


def _require_encodable(text: str, what: str, *, errors: str) -> None:
    try:
        text.encode(errors=errors)
    except UnicodeEncodeError as error:
        raise BadOrder(f"{what} cannot be written as UTF-8: {error.reason}") from None
