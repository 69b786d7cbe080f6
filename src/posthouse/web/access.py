"""Who may come in: a program of this user on this machine, or one elsewhere that shows the token.

Asked twice. When a connection is made, the kernel says whose it is. With each request, its headers say
whether a web page is behind it: a page can reach loopback by its own name that resolves to 127.0.0.1,
which its Host tells, or by a plain cross-site request, which its Origin tells. Frames, images and links send
no Origin; browsers mark those with Sec-Fetch-Site.
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
from posthouse.web.scopes import Proof

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

#: Requests of our own pages, and those that a person typed or bookmarked.
_OWN_SITES = ("same-origin", "none")
#: Pages for people: a link on another site may lead there, but nothing else on it.
_PAGES = ("/docs",)
#: The extension that is called when a peer beyond loopback has shown a token.
PROVED = "posthouse.proved"
#: The extension by which an application drops a peer.
HANG_UP = "posthouse.hang_up"

Peer = Literal["own", "stranger", "remote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that says no. As an application, it says so to everything."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.response()(scope, receive, send)

    def response(self) -> JSONResponse:
        return JSONResponse({"detail": self.detail}, self.status, headers=self.headers)


NOT_FROM_HERE = Refusal(status=403, detail="Only connections from this machine are served")
NO_TOKEN = Refusal(
    status=401,
    detail="From beyond this machine, show the token: Authorization: Bearer TOKEN",
    headers={"www-authenticate": "Bearer"},
)
WRONG_TOKEN = Refusal(
    status=401,
    detail="That is not the token",
    headers={"www-authenticate": 'Bearer error="invalid_token"'},
)
FOREIGN_HOST = Refusal(
    status=403, detail="The Host header must name this machine's loopback, for example 127.0.0.1"
)
FOREIGN_PAGE = Refusal(status=403, detail="Web pages of another origin are not served")


def peer_of(peername: Any, sockname: Any) -> Peer:
    """Who made a connection. A kernel that does not tell makes everybody a stranger."""
    if not peername or not sockname:
        return "stranger"
    if not _is_loopback(peername[0]):
        return "remote"
    try:
        uid = peers.uid_of(peername[:2], sockname[:2])
    except OSError:
        return "stranger"
    return "own" if uid is not None and ownership.is_own(uid) else "stranger"


class Door:
    """Lets requests through to *app*, with what their callers may do, or refuses them.

    *proof* says what the token of a peer beyond loopback allows; None for a listener that is on loopback.
    """

    def __init__(self, app: ASGIApp, proof: Proof | None = None) -> None:
        self._app = app
        self._proof = proof
        #: Requests by token that are being answered, by the identity of their scope.
        self._granted: dict[int, Scope] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = refusal(scope, self._proof) if scope["type"] == "http" else None
        if answer is not None or scopes.granted(scope) is None:
            await (answer or self._app)(scope, receive, send)
            return
        self._granted[id(scope)] = scope
        try:
            await self._app(scope, receive, send)
        finally:
            del self._granted[id(scope)]

    def recheck(self) -> None:
        """Drop the callers whose tokens no longer prove what was granted: tokens have changed."""
        for scope in list(self._granted.values()):
            if self._proof is None or _proved(scope, self._proof) != scopes.granted(scope):
                scope["extensions"][HANG_UP]["call"]()


def refusal(scope: Scope, proof: Proof | None) -> Refusal | None:
    """Why this request is not served, or None; then *scope* knows what its caller may do."""
    hosts = _values(scope, b"host")
    peer = scope.get("client")
    if peer is None:
        return NOT_FROM_HERE
    if not _is_loopback(peer[0]):
        if proof is None:
            return NOT_FROM_HERE
        if (unproved := _prove(scope, proof)) is not None:
            return unproved
    elif len(hosts) != 1 or _name(hosts[0]) not in _LOOPBACK_NAMES:
        return FOREIGN_HOST
    if any([origin] != [f"http://{host}" for host in hosts] for origin in _values(scope, b"origin")):
        return FOREIGN_PAGE
    sites = _values(scope, b"sec-fetch-site")
    if any(site not in _OWN_SITES for site in sites) and not _opens_page(scope):
        return FOREIGN_PAGE
    return None


def _opens_page(scope: Scope) -> bool:
    """Whether a person follows a link to one of our pages, in a tab of its own."""
    return (
        scope["path"] in _PAGES
        and scope["method"] == "GET"
        and _values(scope, b"sec-fetch-mode") == ["navigate"]
        and _values(scope, b"sec-fetch-dest") == ["document"]
    )


@lru_cache(maxsize=64)  # the same few ask again and again
def _is_loopback(host: str) -> bool:
    return ip_address(host).is_loopback


def _prove(scope: Scope, proof: Proof) -> Refusal | None:
    """None when a token was shown, once."""
    if not _shown(scope):
        return NO_TOKEN
    granted = _proved(scope, proof)
    if granted is None:
        return WRONG_TOKEN
    scopes.grant(scope, granted)
    if (proved := scope.get("extensions", {}).get(PROVED)) is not None:
        proved["call"]()
    return None


def _proved(scope: Scope, proof: Proof) -> scopes.Scope | None:
    shown = _shown(scope)
    return proof(shown[0]) if len(shown) == 1 else None


def _shown(scope: Scope) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == b"authorization"]


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == header]


def _name(host: str) -> str:
    """*host* without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
