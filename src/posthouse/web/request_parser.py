"""Parses the input of a connection into requests, with limits.

llhttp rejects malformed input. Limited here are the size of a head and of a target, and the input without
progress.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import httptools

from posthouse.web import request_head
from posthouse.web.access import RefusalResponse
from posthouse.web.request_head import Head

#: Limit of input without progress: half a line, a trailer, empty lines.
_MAX_STRAY_BYTES = 64 << 10
_MALFORMED = RefusalResponse(status=400, detail="That is not HTTP/1.1")

Header = tuple[bytes, bytes]
#: Between requests, in a request's head, or in its body.
ParserState = Literal["between", "head", "body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStart:
    """The accepted head of a request."""

    method: str
    version: str
    path: bytes
    query: bytes
    #: Names are in lower case.
    headers: list[Header]
    #: The connection closes after its response.
    is_last: bool


class RequestHandler(Protocol):
    """Receives the parsed requests."""

    def on_request(self, request: RequestStart) -> None:
        """A request has started. May raise `UnreadableRequest`."""

    def on_body(self, part: bytes) -> None:
        """A part of its body."""

    def on_complete(self) -> None:
        """The request is complete."""


class UnreadableRequest(Exception):
    """Further input can't be parsed. Refusal None: close after the responses to earlier requests."""

    def __init__(self, refusal: RefusalResponse | None) -> None:
        super().__init__()
        self.refusal = refusal


class RequestParser:
    """Parses the requests of one connection."""

    def __init__(self, handler: RequestHandler) -> None:
        self._handler = handler
        self._parser = httptools.HttpRequestParser(self)
        # Input after a request with `connection: close` is ignored, not an error.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)

        self.state: ParserState = "between"
        self._has_progress = False
        self._stray_bytes = self._head_bytes = 0
        self._url = b""
        self._headers: list[Header] = []
        self._fault: UnreadableRequest | None = None

    def feed(self, data: bytes) -> None:
        """Parse *data* and call the handler.

        Raises:
            UnreadableRequest: The connection must close, with the refusal to send.
        """
        self._has_progress = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise UnreadableRequest(None) from None  # another protocol may follow
        except httptools.HttpParserError:
            raise self._fault or UnreadableRequest(_MALFORMED) from None
        if not self._has_progress:
            self.state = "head" if self.state == "between" else self.state
            self._stray_bytes += len(data)
            if self._stray_bytes > _MAX_STRAY_BYTES:
                raise UnreadableRequest(request_head.TOO_LARGE)

    def close(self) -> None:
        """Break the reference cycle with the parser."""
        del self._parser

    # Callbacks of the parser. It wraps exceptions, so the original is kept in `_fault`.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._head_bytes = b"", [], 0
        self._progress("head")

    def on_url(self, url: bytes) -> None:
        self._url += url
        if len(self._url) > request_head.MAX_TARGET_BYTES:
            self._stop(UnreadableRequest(request_head.TARGET_TOO_LONG))

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.state != "head":
            return  # a trailer must not become a header after the headers were checked
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > request_head.MAX_BYTES or len(self._headers) >= request_head.MAX_FIELDS:
            self._stop(UnreadableRequest(request_head.TOO_LARGE))
        # The parser keeps trailing whitespace, which is not part of the value (RFC 9110, 5.5).
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        version, is_upgrade = self._parser.get_http_version(), self._parser.should_upgrade()
        head = Head(target=self._url, version=version, headers=self._headers, is_upgrade=is_upgrade)
        if (refusal := request_head.check(head)) is not None:
            self._stop(UnreadableRequest(refusal))
        self._progress("body")
        url = httptools.parse_url(self._url)
        request = RequestStart(
            method=self._parser.get_method().decode("ascii"),
            version=version,
            path=url.path,
            query=url.query or b"",
            headers=self._headers,
            # An upgrade is served as plain HTTP, once.
            is_last=is_upgrade or version == "1.0" or not self._parser.should_keep_alive(),
        )
        try:
            self._handler.on_request(request)
        except UnreadableRequest as unreadable:
            self._stop(unreadable)

    def on_body(self, body: bytes) -> None:
        self._progress("body")
        self._handler.on_body(body)

    def on_message_complete(self) -> None:
        self._progress("between")
        self._handler.on_complete()

    def _progress(self, state: ParserState) -> None:
        self.state = state
        self._has_progress = True
        self._stray_bytes = 0

    def _stop(self, fault: UnreadableRequest) -> None:
        self._fault = fault
        raise fault
