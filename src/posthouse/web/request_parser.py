"""What comes in on a connection: taken apart into requests, and bounded.

llhttp rejects what is malformed. What it leaves open is bounded here: how large a head and a target may be,
and how much may come without telling us anything.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import httptools

from posthouse.web import request_head
from posthouse.web.access import Refusal
from posthouse.web.request_head import Head

#: What may come without telling us anything: half a line, a trailer, empty lines.
_MAX_STRAY_BYTES = 64 << 10
_MALFORMED = Refusal(status=400, detail="That is not HTTP/1.1")

Header = tuple[bytes, bytes]
#: Between requests, in a request's head, or in its body.
Place = Literal["between", "head", "body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The head of a request that may be served."""

    method: str
    version: str
    path: bytes
    query: bytes
    #: Names are in lower case.
    headers: list[Header]
    #: The connection ends with its answer.
    is_last: bool


class Audience(Protocol):
    """Whoever serves what comes."""

    def on_request(self, opening: Opening) -> None:
        """A request has begun; it may raise `Unreadable`."""

    def on_part(self, part: bytes) -> None:
        """Some of its body."""

    def on_whole(self) -> None:
        """All of it is here."""


class Unreadable(Exception):
    """Nothing that follows can be understood. None: what came before has its answers, and that is all."""

    def __init__(self, refusal: Refusal | None) -> None:
        super().__init__()
        self.refusal = refusal


class Incoming:
    """The requests of one connection, in their order."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._parser = httptools.HttpRequestParser(self)
        # What follows a request that asked for the end is overlooked, not taken for a fault.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        #: Where in a request we are.
        self.place: Place = "between"
        self._has_progress = False
        self._stray_bytes = self._head_bytes = 0
        self._url = b""
        self._headers: list[Header] = []
        self._fault: Unreadable | None = None

    def feed(self, data: bytes) -> None:
        """Tell the audience what *data* means.

        Raises:
            Unreadable: The connection has to end, and why.
        """
        self._has_progress = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise Unreadable(None) from None  # what follows could be anything
        except httptools.HttpParserError:
            raise self._fault or Unreadable(_MALFORMED) from None
        if not self._has_progress:
            self.place = "head" if self.place == "between" else self.place
            self._stray_bytes += len(data)
            if self._stray_bytes > _MAX_STRAY_BYTES:
                raise Unreadable(request_head.TOO_LARGE)

    def close(self) -> None:
        """Let go of the parser, which holds this."""
        del self._parser

    # What the parser calls. It wraps what is raised here, so the reason is kept.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._head_bytes = b"", [], 0
        self._progress("head")

    def on_url(self, url: bytes) -> None:
        self._url += url
        if len(self._url) > request_head.MAX_TARGET_BYTES:
            self._stop(Unreadable(request_head.TARGET_TOO_LONG))

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.place != "head":
            return  # a trailer must not become a header behind the back of whoever checked those
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > request_head.MAX_BYTES or len(self._headers) >= request_head.MAX_FIELDS:
            self._stop(Unreadable(request_head.TOO_LARGE))
        # The parser leaves blanks behind a value, which are no part of it (RFC 9110, 5.5).
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        version, is_upgrade = self._parser.get_http_version(), self._parser.should_upgrade()
        head = Head(target=self._url, version=version, headers=self._headers, is_upgrade=is_upgrade)
        if (refusal := request_head.check(head)) is not None:
            self._stop(Unreadable(refusal))
        self._progress("body")
        url = httptools.parse_url(self._url)
        opening = Opening(
            method=self._parser.get_method().decode("ascii"),
            version=version,
            path=url.path,
            query=url.query or b"",
            headers=self._headers,
            # An upgrade is served as plain HTTP, once.
            is_last=is_upgrade or version == "1.0" or not self._parser.should_keep_alive(),
        )
        try:
            self._audience.on_request(opening)
        except Unreadable as unreadable:
            self._stop(unreadable)

    def on_body(self, body: bytes) -> None:
        self._progress("body")
        self._audience.on_part(body)

    def on_message_complete(self) -> None:
        self._progress("between")
        self._audience.on_whole()

    def _progress(self, place: Place) -> None:
        self.place = place
        self._has_progress = True
        self._stray_bytes = 0

    def _stop(self, fault: Unreadable) -> None:
        self._fault = fault
        raise fault
