"""One question to a coordination server, and how its answer is read. No I/O: both clients share this."""

import json
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from posthouse.clients.server.errors import BadAddress, OtherShape, refusal
from posthouse.contracts import strict
from posthouse.support import untrusted_files

T = TypeVar("T")
A = TypeVar("A", bound=msgspec.Struct)

MAX_ANSWER_BYTES = 16 << 20
_OK = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """What is asked, and what the answer is read as."""

    method: str
    path: str
    read: Callable[["Raw"], T]
    query: Mapping[str, str] = field(default_factory=dict)
    #: Bytes go as they are.
    body: Mapping[str, Any] | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: How long the server may take, beyond what every answer takes.
    patience_seconds: float = 0.0

    @property
    def target(self) -> str:
        """The path with its query, as it stands in a request."""
        return f"{self.path}?{urllib.parse.urlencode(self.query)}" if self.query else self.path

    @property
    def content(self) -> bytes | None:
        return self.body if self.body is None or isinstance(self.body, bytes) else _encoded(self.body)


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


class Raw(NamedTuple):
    """An answer as it came."""

    status: int
    content: bytes
    #: By their names in lower case.
    headers: Mapping[str, str] = MappingProxyType({})

    def value(self) -> Any:
        """The JSON object of a good answer.

        Raises:
            ServerRefused: It is not a good one.
            OtherShape: It is no JSON object.
        """
        decoded = self._object()
        if self.status not in _OK:
            raise refusal(self.status, decoded)
        return decoded

    def bytes(self) -> "bytes":
        """The content of a good answer.

        Raises:
            ServerRefused: It is not a good one.
        """
        if self.status not in _OK:
            raise refusal(self.status, self._object())
        return self.content

    def _object(self) -> dict[str, Any]:
        try:
            decoded = untrusted_files.decode_json(self.content)
        except ValueError as error:
            raise OtherShape(f"the server answered {self.status} with something that is not JSON") from error
        if not isinstance(decoded, dict):
            raise OtherShape(f"the server answered {self.status} with something that is no JSON object")
        return decoded


def as_kind(kind: type[A]) -> Callable[[Raw], A]:
    """Reads an answer as *kind*.

    Raises:
        ServerRefused: The server said no.
        OtherShape: It is not of that kind.
    """

    def read(raw: Raw) -> A:
        try:
            return strict.decode(raw.bytes(), kind)
        except ValueError as error:
            raise OtherShape(
                f"the server answers in another shape than this version knows ({error}); "
                "is one of the two older than the other?"
            ) from error

    return read


class Address(NamedTuple):
    """Where a server is."""

    scheme: str
    host: str
    port: int
    #: In front of every path; behind a reverse proxy it may be something.
    prefix: str = ""

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{shown}:{self.port}{self.prefix}"

    @classmethod
    def parse(cls, base_url: str) -> "Address":
        """Raises:
        BadAddress: It is no address of a server.
        """
        parts = urllib.parse.urlsplit(base_url.strip())
        try:
            port = parts.port
        except ValueError as error:
            raise BadAddress(f"{base_url!r} has no port that can be one") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadAddress(f"{base_url!r} is no address of a server, such as http://127.0.0.1:9891")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise BadAddress(f"the address of a server has no user, query or fragment: {base_url!r}")
        default = 443 if parts.scheme == "https" else 80
        # 0.0.0.0 is where it listens, not where it can be reached.
        host = "127.0.0.1" if parts.hostname == "0.0.0.0" else parts.hostname
        return cls(parts.scheme, host, default if port is None else port, parts.path.rstrip("/"))
