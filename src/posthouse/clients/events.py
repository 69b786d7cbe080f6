"""Reads server-sent events as they come."""

import http.client
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from posthouse.errors import Unavailable
from posthouse.support import untrusted_files

#: Longer than any event; a line without end is not one of ours.
MAX_LINE_BYTES = 1 << 20


class StreamBroken(Unavailable):
    """The connection broke, or nothing came for too long; what was heard counts."""

    code = "stream_broken"


class Heard(NamedTuple):
    """One event as it was sent, or a gap: `kind` is `gap` then."""

    #: Goes on after it, as `since` or `Last-Event-ID`.
    event_id: str
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.fields.get("kind", ""))


class Frames:
    """Puts events together from the lines of a stream, whoever reads them."""

    def __init__(self) -> None:
        #: The newest id that was heard of, also where its event was not asked for.
        self.last_id: str | None = None
        self._id: str | None = None
        self._data = ""

    def take(self, line: str) -> Heard | None:
        """The event that *line* completes; a blank line does.

        Raises:
            StreamBroken: It is no event.
        """
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "data":
            self._data += value
        elif not line:
            self.last_id, data, self._data = self._id, self._data, ""
            return Heard(event_id=self._id or "", fields=_object(data)) if data else None
        return None


class EventFeed:
    """The events of an open answer. Ends when the other side ends it. Whoever has it closes it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self._frames = Frames()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def last_id(self) -> str | None:
        """The newest id that was heard of, also where its event was not asked for."""
        return self._frames.last_id

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[Heard]:
        """Every event, as it comes.

        Raises:
            StreamBroken: It can't be read on; `last_id` says from where another can be.
        """
        while line := self._line():
            heard = self._frames.take(text_of(line))
            if heard is not None:
                yield heard

    def _line(self) -> bytes:
        try:
            return self._response.readline(MAX_LINE_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise StreamBroken(f"the stream of events broke: {error or type(error).__name__}") from error


def text_of(line: bytes) -> str:
    """A line without its end.

    Raises:
        StreamBroken: It has none.
    """
    if len(line) >= MAX_LINE_BYTES:
        raise StreamBroken(f"a line of more than {MAX_LINE_BYTES} bytes is no event")
    return line.decode(errors="replace").rstrip("\r\n")


def _object(data: str) -> dict[str, Any]:
    try:
        decoded = untrusted_files.decode_json(data)
    except ValueError as error:
        raise StreamBroken("an event that is not JSON") from error
    if not isinstance(decoded, dict):
        raise StreamBroken("an event that is no object")
    return decoded
