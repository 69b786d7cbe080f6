"""Decodes a program's output lines into canonical events."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from posthouse.contracts.events import CanonicalEvent, DecodedRecord
from posthouse.support import clock, untrusted_files
from posthouse.tools.decoder import Decoder
from posthouse.turns.tail import Overlong

#: A diagnostic shows this much of an undecodable text.
_SHOWN_CHARACTERS = 4000
_MAX_DEPTH = 100


class EventDecoder:
    """Decodes the output of one turn. Keeps the conversation id from the first record that has one."""

    def __init__(
        self,
        decoder: Decoder,
        turn_index: int,
        *,
        now: Callable[[], str] = lambda: clock.iso_micros(clock.now()),
    ) -> None:
        self._decoder = decoder
        self._turn_index = turn_index
        self._now = now
        self._session_id: str | None = None

    def stdout(self, line: bytes | Overlong) -> Iterator[CanonicalEvent]:
        """The events of one line of the provider's stream; none for a blank line."""
        if isinstance(line, Overlong):
            yield self._diagnostic("raw_text", _too_long(line), severity="warning")
            return
        text = line.decode(errors="replace").strip()
        if not text:
            return
        try:
            record = _parse(text)
        except ValueError:
            yield self._diagnostic("raw_text", text, severity="warning")
            return
        if isinstance(record, dict):
            yield from self._record(record)
        else:
            yield self._diagnostic("non_mapping", text, severity="warning")

    def stderr(self, line: bytes | Overlong) -> Iterator[CanonicalEvent]:
        """One diagnostic for a line that is not blank."""
        text = _too_long(line) if isinstance(line, Overlong) else line.decode(errors="replace").rstrip()
        if text.strip():
            yield self._diagnostic("stderr", text)

    def _record(self, record: dict[str, Any]) -> Iterator[CanonicalEvent]:
        self._session_id = self._session_id or self._decoder.session_id(record)
        for decoded in self._decode(record):
            yield self._event(decoded, record)

    def _decode(self, record: dict[str, Any]) -> Iterable[DecodedRecord]:
        try:
            return self._decoder.decode(record)
        except Exception as error:  # noqa: BLE001 - an unexpected record must not stop the decoding
            text = f"undecodable record: {type(error).__name__}: {error}"
            return [
                DecodedRecord(
                    kind="diagnostic",
                    provider_event_type="undecodable",
                    message=text,
                    data={"severity": "warning", "text": text},
                )
            ]

    def _diagnostic(self, event_type: str, text: str, **data: str) -> CanonicalEvent:
        shown = text[:_SHOWN_CHARACTERS]
        message = shown.splitlines()[0] if shown else ""
        return self._event(
            DecodedRecord(
                kind="diagnostic",
                provider_event_type=event_type,
                message=message,
                data={**data, "text": shown},
            ),
            None,
        )

    def _event(self, decoded: DecodedRecord, record: dict[str, Any] | None) -> CanonicalEvent:
        return CanonicalEvent(
            kind=decoded.kind,
            message=decoded.message,
            turn_index=self._turn_index,
            provider=self._decoder.PROVIDER,
            provider_event_type=decoded.provider_event_type,
            timestamp_utc=self._now(),
            session_id=self._session_id,
            data=decoded.data,
            raw_payload=record,
        )


def encode(event: CanonicalEvent) -> bytes:
    """One line of `canonical-events.jsonl`. ASCII: a provider's text may hold half a surrogate pair."""
    return (json.dumps(event.to_record(), sort_keys=True) + "\n").encode("ascii")


def _parse(text: str) -> object:
    """Parse strict JSON of bounded depth, so that recursive readers do not exhaust the stack.

    Raises:
        ValueError: It is invalid or too deep.
    """
    value: object = untrusted_files.decode_json(text, parse_constant=_refuse, max_depth=_MAX_DEPTH)
    return value


def _too_long(line: Overlong) -> str:
    return f"a line of {line.length} bytes was left out; it is in the raw file"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
