"""Access control: programs of this user on this machine, and remote callers with a token.

Checked twice. On connect, the kernel reports the peer's user. On each request, the headers show whether a web
page sent it: a page reaches loopback through a host name that resolves to 127.0.0.1 (DNS rebinding, visible
in Host) or by a cross-site request (visible in Origin). Frames, images and links send no Origin; browsers
mark those with Sec-Fetch-Site.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Literal

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from posthouse.support import ownership, peers
from posthouse.web import scopes
from posthouse.web.scopes import Authenticator

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

#: Requests of our own pages, and typed or bookmarked URLs.
_OWN_SITES = ("same-origin", "none")
#: Pages that links on other sites may open; any other cross-site request is refused.
_PAGES = ("/docs",)
#: The ASGI extension that is called when a remote peer has shown a valid token.
AUTHENTICATED = "posthouse.authenticated"
#: The ASGI extension by which an application aborts the connection.
HANG_UP = "posthouse.hang_up"

Peer = Literal["own", "other_user", "remote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalResponse:
    """An error response. As an ASGI application, it is the response to every request."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.response()(scope, receive, send)

    def response(self) -> JSONResponse:
        return JSONResponse({"detail": self.detail}, self.status, headers=self.headers)


NOT_LOCAL = RefusalResponse(status=403, detail="Only connections from this machine are served")
NO_TOKEN = RefusalResponse(
    status=401,
    detail="From beyond this machine, show the token: Authorization: Bearer TOKEN",
    headers={"www-authenticate": "Bearer"},
)
WRONG_TOKEN = RefusalResponse(
    status=401,
    detail="That is not the token",
    headers={"www-authenticate": 'Bearer error="invalid_token"'},
)
FOREIGN_HOST = RefusalResponse(
    status=403, detail="The Host header must name this machine's loopback, for example 127.0.0.1"
)
FOREIGN_PAGE = RefusalResponse(status=403, detail="Web pages of another origin are not served")


def peer_of(peername: Any, sockname: Any) -> Peer:
    """Who made a connection. A peer that the kernel can't identify counts as another user."""
    if not peername or not sockname:
        return "other_user"
    if not _is_loopback(peername[0]):
        return "remote"
    try:
        uid = peers.uid_of(peername[:2], sockname[:2])
    except OSError:
        return "other_user"
    return "own" if uid is not None and ownership.is_own(uid) else "other_user"


class AccessControl:
    """ASGI middleware that refuses unauthorized requests and grants scopes to the others.

    *authenticate* returns the scope of a remote peer's token; None for a listener on loopback.
    """

    def __init__(self, app: ASGIApp, authenticate: Authenticator | None = None) -> None:
        self._app = app
        self._authenticate = authenticate
        #: Authenticated requests in progress, by the id of their ASGI scope.
        self._in_progress: dict[int, Scope] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = check_request(scope, self._authenticate) if scope["type"] == "http" else None
        if refusal is not None or scopes.granted(scope) is None:
            await (refusal or self._app)(scope, receive, send)
            return
        self._in_progress[id(scope)] = scope
        try:
            await self._app(scope, receive, send)
        finally:
            del self._in_progress[id(scope)]

    def recheck(self) -> None:
        """Abort the requests whose tokens no longer have the granted scope, after tokens have changed."""
        for scope in list(self._in_progress.values()):
            if self._authenticate is None or _authenticated_scope(
                scope, self._authenticate
            ) != scopes.granted(scope):
                scope["extensions"][HANG_UP]["call"]()


def check_request(scope: Scope, authenticate: Authenticator | None) -> RefusalResponse | None:
    """Why this request is refused, or None; then the caller's scope is granted in *scope*."""
    hosts = _values(scope, b"host")
    peer = scope.get("client")
    if peer is None:
        return NOT_LOCAL
    if not _is_loopback(peer[0]):
        if authenticate is None:
            return NOT_LOCAL
        if (refusal := _token_refusal(scope, authenticate)) is not None:
            return refusal
    elif len(hosts) != 1 or _name(hosts[0]) not in _LOOPBACK_NAMES:
        return FOREIGN_HOST
    if any([origin] != [f"http://{host}" for host in hosts] for origin in _values(scope, b"origin")):
        return FOREIGN_PAGE
    sites = _values(scope, b"sec-fetch-site")
    if any(site not in _OWN_SITES for site in sites) and not _opens_page(scope):
        return FOREIGN_PAGE
    return None


def _opens_page(scope: Scope) -> bool:
    """Whether it is a top-level navigation to one of our pages."""
    return (
        scope["path"] in _PAGES
        and scope["method"] == "GET"
        and _values(scope, b"sec-fetch-mode") == ["navigate"]
        and _values(scope, b"sec-fetch-dest") == ["document"]
    )


@lru_cache(maxsize=64)
def _is_loopback(host: str) -> bool:
    return ip_address(host).is_loopback


def _token_refusal(scope: Scope, authenticate: Authenticator) -> RefusalResponse | None:
    """Why the token is refused; None when it is valid."""
    if not _authorization_values(scope):
        return NO_TOKEN
    granted = _authenticated_scope(scope, authenticate)
    if granted is None:
        return WRONG_TOKEN
    scopes.grant(scope, granted)
    if (on_authenticated := scope.get("extensions", {}).get(AUTHENTICATED)) is not None:
        on_authenticated["call"]()
    return None


def _authenticated_scope(scope: Scope, authenticate: Authenticator) -> scopes.Scope | None:
    values = _authorization_values(scope)
    return authenticate(values[0]) if len(values) == 1 else None


def _authorization_values(scope: Scope) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == b"authorization"]


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == header]


def _name(host: str) -> str:
    """*host* without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
