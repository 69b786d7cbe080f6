"""Who may come in: a program on this machine that means this gateway, never a web page.

A page in a browser can reach loopback, by its own name that resolves to 127.0.0.1 or by a plain
cross-site request. The first is told by its Host, the second by its Origin.
"""

from ipaddress import ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class Door:
    """Lets loopback requests through and refuses all others with 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reason = refusal(scope) if scope["type"] == "http" else None
        if reason is None:
            await self._app(scope, receive, send)
        else:
            await JSONResponse({"detail": reason}, 403)(scope, receive, send)


def refusal(scope: Scope) -> str | None:
    """Why this request is not served, or None."""
    peer = scope.get("client")
    if peer is None or not ip_address(peer[0]).is_loopback:
        return "Only connections from this machine are served"
    hosts = _values(scope, b"host")
    if len(hosts) != 1 or _name(hosts[0]) not in _LOOPBACK_NAMES:
        return "The Host header must name this machine's loopback, for example 127.0.0.1"
    if any(origin != f"http://{hosts[0]}" for origin in _values(scope, b"origin")):
        return "Web pages of another origin are not served"
    return None


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == header]


def _name(host: str) -> str:
    """*host* without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
