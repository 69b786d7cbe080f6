"""Scopes of tokens: read state, prompt agents, or administer agents."""

from collections.abc import Callable
from typing import Final, Literal

from starlette.types import Scope as Asgi

from posthouse.errors import Denied

#: Each includes those before it.
SCOPES: Final = ("read", "prompt", "admin")
Scope = Literal["read", "prompt", "admin"]
#: Returns the scope of an Authorization header; None when it is invalid.
Authenticator = Callable[[bytes], Scope | None]
_GRANTED = "posthouse.granted"


def grant(http: Asgi, scope: Scope) -> None:
    """Record the scope of the request's token."""
    http[_GRANTED] = scope


def granted(http: Asgi) -> Scope | None:
    """The scope of the request's token; None: no token was needed (loopback)."""
    scope: Scope | None = http.get(_GRANTED)
    return scope


def check(http: Asgi, needed: Scope) -> None:
    """Require the scope *needed*. Requests without a granted scope (loopback) count as admin.

    Raises:
        Denied: The token's scope is too small; code `scope_too_small`.
    """
    allowed = granted(http) or "admin"
    if SCOPES.index(allowed) < SCOPES.index(needed):
        raise Denied(f"This needs a token of scope {needed!r}; yours has {allowed!r}", code="scope_too_small")


def default_scope(method: str) -> Scope:
    """The scope of a route of *method* that declares none."""
    return "read" if method in ("GET", "HEAD") else "prompt"
