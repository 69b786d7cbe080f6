"""Checks of a request's head beyond those of the parser."""

from collections.abc import Sequence
from dataclasses import dataclass

from posthouse.web.access import RefusalResponse

MAX_BYTES = 32 << 10
MAX_FIELDS = 100
MAX_TARGET_BYTES = 8 << 10

TOO_LARGE = RefusalResponse(
    status=431, detail=f"The head of the request is larger than {MAX_BYTES} bytes or {MAX_FIELDS} fields"
)
TARGET_TOO_LONG = RefusalResponse(status=414, detail=f"The target is longer than {MAX_TARGET_BYTES} bytes")
_OTHER_VERSION = RefusalResponse(status=505, detail="HTTP/1.1 and 1.0 are served")
_TWO_HOSTS = RefusalResponse(status=400, detail="The Host header must be there once")
_FOREIGN_TARGET = RefusalResponse(status=400, detail="The target must be a path, for example /health")
_CODED_BODY = RefusalResponse(status=501, detail="No transfer coding is known but chunked")
_CHUNKED_TOO_EARLY = RefusalResponse(status=400, detail="HTTP/1.0 has no transfer codings")
_UPGRADE_WITH_BODY = RefusalResponse(
    status=400, detail="Upgrades are not offered; send the request without an Upgrade header"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a request. Names of headers are in lower case."""

    target: bytes
    version: str
    headers: Sequence[tuple[bytes, bytes]]
    is_upgrade: bool


def check(head: Head) -> RefusalResponse | None:
    """Why this request is refused, or None. An ambiguous body length is a reason (request smuggling)."""
    if head.version not in ("1.1", "1.0"):
        return _OTHER_VERSION
    hosts = _values(head, b"host")
    if len(hosts) > 1:
        return _TWO_HOSTS
    if not head.target.startswith(b"/") and not _names_host(head.target, hosts):
        return _FOREIGN_TARGET
    if codings := _values(head, b"transfer-encoding"):
        if head.version == "1.0":
            return _CHUNKED_TOO_EARLY
        if [coding.lower() for coding in codings] != [b"chunked"]:
            return _CODED_BODY
    # The parser treats data after an upgrade as another protocol, and would lose the body.
    if head.is_upgrade and (codings or _values(head, b"content-length") not in ([], [b"0"])):
        return _UPGRADE_WITH_BODY
    return None


def _names_host(target: bytes, hosts: list[bytes]) -> bool:
    """Whether *target* is an absolute URL with the host of the Host header."""
    scheme, separator, rest = target.partition(b"://")
    authority = rest.partition(b"/")[0].partition(b"?")[0]
    named = [host.lower() for host in hosts]
    return scheme.lower() == b"http" and bool(separator) and [authority.lower()] == named


def _values(head: Head, name: bytes) -> list[bytes]:
    return [value for given, value in head.headers if given == name]
