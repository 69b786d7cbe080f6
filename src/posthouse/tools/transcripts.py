"""What the transcripts of all CLIs have in common: a record in each line, and turns that prompts share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from posthouse.support import untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.tools.tool import Exchange, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of a transcript."""

    fields: Mapping[str, Any]
    #: None when it comes from no file.
    place: Place | None = None


def read(path: Path, *, max_bytes: int, containing: bytes = b"") -> Iterator[Record]:
    """The records in the last *max_bytes* of *path*, as they lie there; none when it is gone.

    Left out is what is no object, not whole, or without *containing* near its beginning.
    """
    for offset, line in _tail(path, max_bytes):
        if containing not in line[:200]:
            continue
        fields = _parsed(line)
        if isinstance(fields, dict):
            yield Record(fields=fields, place=Place(file=path.name, offset=offset))


def close(
    found: Sequence[Exchange],
    *,
    outcome: Literal["success", "interrupted", "error"],
    answer: str | None,
    usage: Mapping[str, int] | None = None,
) -> list[Exchange]:
    """*found* with every open exchange ended: prompts that joined one turn end together.

    The turn's tokens go to the prompt that began it: whoever adds them up counts them once.
    """
    is_first, ended = True, []
    for exchange in found:
        if exchange.outcome is None:
            exchange = replace(exchange, outcome=outcome, answer=answer, usage=usage if is_first else None)
            is_first = False
        ended.append(exchange)
    return ended


class Tally:
    """The tokens of one turn. What is told again of the same message counts once."""

    def __init__(self) -> None:
        self._by_message: dict[object, Mapping[str, int]] = {}

    def note(self, message_id: object, told: object, names: Mapping[str, str]) -> None:
        """Count what is *told* of a message, under the *names* that we have for the CLI's."""
        if isinstance(told, Mapping):
            counts = {ours: told.get(theirs) for theirs, ours in names.items()}
            self._by_message[message_id] = {
                name: count for name, count in counts.items() if isinstance(count, int)
            }

    def clear(self) -> None:
        self._by_message.clear()

    def total(self) -> dict[str, int] | None:
        """The sums by name; None when nothing was told."""
        total: dict[str, int] = {}
        for counts in self._by_message.values():
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        return total or None


def _tail(path: Path, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines at the end of *path*, each with the byte where it begins."""
    try:
        start, tail = untrusted_files.read_tail(path, max_bytes=max_bytes)
    except (FileNotFoundError, UnsafeFile):
        return
    lines, offset = tail.split(b"\n"), start
    for number, line in enumerate(lines[:-1]):
        if number or not start:
            yield offset, line
        offset += len(line) + 1


def _parsed(line: bytes) -> object:
    try:
        return untrusted_files.decode_json(line)
    except ValueError:
        return None
