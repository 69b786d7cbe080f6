"""A client for server-sent events."""

import http.client
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from posthouse.errors import Unavailable
from posthouse.support import untrusted_files

#: Above the largest event.
MAX_LINE_BYTES = 1 << 20


class StreamBroken(Unavailable):
    """The connection broke or timed out; received events are valid."""

    code = "stream_broken"


class ReceivedEvent(NamedTuple):
    """One event as received, or a gap with the kind `gap`."""

    #: As `since` or `Last-Event-ID`, the stream resumes after it.
    event_id: str
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.fields.get("kind", ""))


class EventParser:
    """Parses events from the lines of a stream. No I/O."""

    def __init__(self) -> None:
        #: The newest received id, including ids of events that were filtered out.
        self.last_id: str | None = None
        self._id: str | None = None
        self._data = ""

    def feed(self, line: str) -> ReceivedEvent | None:
        """The event that *line* completes, if any; a blank line completes one.

        Raises:
            StreamBroken: The event is invalid.
        """
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "data":
            self._data += value
        elif not line:
            self.last_id, data, self._data = self._id, self._data, ""
            return ReceivedEvent(event_id=self._id or "", fields=_object(data)) if data else None
        return None


class EventFeed:
    """The events of an open response. Ends when the server ends the stream. The caller closes it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self._parser = EventParser()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def last_id(self) -> str | None:
        """The newest received id, including ids of events that were filtered out."""
        return self._parser.last_id

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[ReceivedEvent]:
        """Every event as it arrives.

        Raises:
            StreamBroken: The stream broke; another one can resume from `last_id`.
        """
        while line := self._read_line():
            event = self._parser.feed(decode_line(line))
            if event is not None:
                yield event

    def _read_line(self) -> bytes:
        try:
            return self._response.readline(MAX_LINE_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise StreamBroken(f"event stream broken: {error or type(error).__name__}") from error


def decode_line(line: bytes) -> str:
    """*line* without its line break.

    Raises:
        StreamBroken: It exceeds `MAX_LINE_BYTES`.
    """
    if len(line) >= MAX_LINE_BYTES:
        raise StreamBroken(f"line exceeds {MAX_LINE_BYTES} bytes")
    return line.decode(errors="replace").rstrip("\r\n")


def _object(data: str) -> dict[str, Any]:
    try:
        decoded = untrusted_files.decode_json(data)
    except ValueError as error:
        raise StreamBroken("event is not JSON") from error
    if not isinstance(decoded, dict):
        raise StreamBroken("event is not a JSON object")
    return decoded
