"""A request to a coordination server and the decoder of its response. No I/O: both clients share it."""

import json
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from posthouse.clients.server.errors import BadServerAddress, UnexpectedResponse, refusal
from posthouse.contracts import strict
from posthouse.support import untrusted_files

T = TypeVar("T")
A = TypeVar("A", bound=msgspec.Struct)

MAX_RESPONSE_BYTES = 16 << 20
_OK = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRequest(Generic[T]):
    """A request and the decoder of its response."""

    method: str
    path: str
    read: Callable[["RawResponse"], T]
    query: Mapping[str, str] = field(default_factory=dict)
    #: Bytes are sent unchanged, mappings as JSON.
    body: Mapping[str, Any] | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Added to the client's timeout.
    extra_seconds: float = 0.0

    @property
    def target(self) -> str:
        """The path with its query."""
        return f"{self.path}?{urllib.parse.urlencode(self.query)}" if self.query else self.path

    @property
    def content(self) -> bytes | None:
        return self.body if self.body is None or isinstance(self.body, bytes) else _encoded(self.body)


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


class RawResponse(NamedTuple):
    """A response before decoding."""

    status: int
    content: bytes
    #: Names in lower case.
    headers: Mapping[str, str] = MappingProxyType({})

    def value(self) -> Any:
        """The JSON object of a successful response.

        Raises:
            ServerRefused: The status is not a success.
            UnexpectedResponse: The body is not a JSON object.
        """
        decoded = self._object()
        if self.status not in _OK:
            raise refusal(self.status, decoded)
        return decoded

    def bytes(self) -> "bytes":
        """The body of a successful response.

        Raises:
            ServerRefused: The status is not a success.
        """
        if self.status not in _OK:
            raise refusal(self.status, self._object())
        return self.content

    def _object(self) -> dict[str, Any]:
        try:
            decoded = untrusted_files.decode_json(self.content)
        except ValueError as error:
            raise UnexpectedResponse(
                f"the server answered {self.status} with a body that is not JSON"
            ) from error
        if not isinstance(decoded, dict):
            raise UnexpectedResponse(
                f"the server answered {self.status} with a body that is not a JSON object"
            )
        return decoded


def decode_as(kind: type[A]) -> Callable[[RawResponse], A]:
    """A decoder of responses to *kind*.

    Raises:
        ServerRefused: The status is not a success.
        UnexpectedResponse: The body does not match *kind*.
    """

    def read(raw: RawResponse) -> A:
        try:
            return strict.decode(raw.bytes(), kind)
        except ValueError as error:
            raise UnexpectedResponse(
                f"the response does not match this client's version ({error}); "
                "check that client and server have the same version"
            ) from error

    return read


class Address(NamedTuple):
    """The address of a server."""

    scheme: str
    host: str
    port: int
    #: Prefix of every path, for servers behind a reverse proxy.
    prefix: str = ""

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{shown}:{self.port}{self.prefix}"

    @classmethod
    def parse(cls, base_url: str) -> "Address":
        """Raises:
        BadServerAddress: The URL is invalid.
        """
        parts = urllib.parse.urlsplit(base_url.strip())
        try:
            port = parts.port
        except ValueError as error:
            raise BadServerAddress(f"invalid port in {base_url!r}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadServerAddress(
                f"invalid server address {base_url!r}: use a URL such as http://127.0.0.1:9891"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise BadServerAddress(f"a server address must have no user, query or fragment: {base_url!r}")
        default = 443 if parts.scheme == "https" else 80
        # 0.0.0.0 is a bind address, not a destination.
        host = "127.0.0.1" if parts.hostname == "0.0.0.0" else parts.hostname
        return cls(parts.scheme, host, default if port is None else port, parts.path.rstrip("/"))
