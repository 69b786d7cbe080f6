"""Helpers shared by the transcript parsers: JSON Lines records, and turns that several prompts share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from posthouse.support import untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.tools.tool import Exchange, TranscriptPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptRecord:
    """One line of a transcript."""

    fields: Mapping[str, Any]
    #: None if it was not read from a file.
    position: TranscriptPosition | None = None


def read(path: Path, *, max_bytes: int, containing: bytes = b"") -> Iterator[TranscriptRecord]:
    """The records in the last *max_bytes* of *path*, in file order; none if the file is gone.

    Skips lines that are incomplete, not JSON objects, or without *containing* near their beginning.
    """
    for offset, line in _tail(path, max_bytes):
        if containing not in line[:200]:
            continue
        fields = _parse(line)
        if isinstance(fields, dict):
            yield TranscriptRecord(fields=fields, position=TranscriptPosition(file=path.name, offset=offset))


def close_exchanges(
    exchanges: Sequence[Exchange],
    *,
    outcome: Literal["success", "interrupted", "error"],
    answer: str | None,
    usage: Mapping[str, int] | None = None,
) -> list[Exchange]:
    """*exchanges* with every open one ended: prompts that joined one turn end together.

    Only the prompt that started the turn gets its tokens, so that sums count them once.
    """
    is_first, ended = True, []
    for exchange in exchanges:
        if exchange.outcome is None:
            exchange = replace(exchange, outcome=outcome, answer=answer, usage=usage if is_first else None)
            is_first = False
        ended.append(exchange)
    return ended


class TokenCounter:
    """Counts the tokens of one turn. Repeated usage of one message counts once."""

    def __init__(self) -> None:
        self._by_message: dict[object, Mapping[str, int]] = {}

    def add(self, message_id: object, usage: object, names: Mapping[str, str]) -> None:
        """Count the *usage* of a message. *names* maps the CLI's keys to ours."""
        if isinstance(usage, Mapping):
            counts = {ours: usage.get(theirs) for theirs, ours in names.items()}
            self._by_message[message_id] = {
                name: count for name, count in counts.items() if isinstance(count, int)
            }

    def clear(self) -> None:
        self._by_message.clear()

    def total(self) -> dict[str, int] | None:
        """The sums by name; None if no usage was reported."""
        total: dict[str, int] = {}
        for counts in self._by_message.values():
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        return total or None


def _tail(path: Path, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The complete lines at the end of *path*, each with its byte offset."""
    try:
        start, tail = untrusted_files.read_tail(path, max_bytes=max_bytes)
    except (FileNotFoundError, UnsafeFile):
        return
    lines, offset = tail.split(b"\n"), start
    for number, line in enumerate(lines[:-1]):
        if number or not start:
            yield offset, line
        offset += len(line) + 1


def _parse(line: bytes) -> object:
    try:
        return untrusted_files.decode_json(line)
    except ValueError:
        return None
