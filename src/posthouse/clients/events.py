"""Reads the server-sent events of one gateway, as they come."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from posthouse.errors import Unavailable

#: Longer than any event; a line without end is not a gateway's.
_MAX_LINE_BYTES = 1 << 20


class StreamBroken(Unavailable):
    """The connection broke, or nothing came for too long; what was heard counts."""

    code = "stream_broken"


class Heard(NamedTuple):
    """One event as the gateway sent it, or a gap: `kind` is `gap` then."""

    #: Goes on after it, as `since` or `Last-Event-ID`.
    event_id: str
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.fields.get("kind", ""))


class EventFeed:
    """The events of an open answer. Ends when the gateway ends it. Whoever has it closes it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        #: The newest id that was heard of, also where its event was not asked for.
        self.last_id: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[Heard]:
        """Every event, as it comes.

        Raises:
            StreamBroken: It can't be read on; `last_id` says from where another can be.
        """
        event_id, data = self.last_id, ""
        while line := self._line():
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                event_id = value
            elif name == "data":
                data += value
            elif line == "\n":
                self.last_id = event_id
                if data:
                    yield Heard(event_id=event_id or "", fields=_object(data))
                data = ""

    def _line(self) -> str:
        """The next line without its end; a blank one is a newline, and nothing is the end of all."""
        try:
            line = self._response.readline(_MAX_LINE_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise StreamBroken(f"the stream of events broke: {error or type(error).__name__}") from error
        if len(line) >= _MAX_LINE_BYTES:
            raise StreamBroken(f"a line of more than {_MAX_LINE_BYTES} bytes is no event")
        return line.decode(errors="replace").rstrip("\r\n") or ("\n" if line else "")


def _object(data: str) -> dict[str, Any]:
    try:
        decoded = json.loads(data)
    except ValueError as error:
        raise StreamBroken("an event that is not JSON") from error
    if not isinstance(decoded, dict):
        raise StreamBroken("an event that is no object")
    return decoded
