"""What a caller may do: look, have agents do things, or change which agents there are."""

from collections.abc import Callable
from typing import Final, Literal

from starlette.types import Scope as Asgi

from posthouse.errors import Denied

#: Each may also do what those before it may.
SCOPES: Final = ("read", "prompt", "admin")
Scope = Literal["read", "prompt", "admin"]
#: The scope that an Authorization header proves; None when it proves nothing.
Proof = Callable[[bytes], Scope | None]
_GRANTED = "posthouse.granted"


class ScopeTooSmall(Denied):
    """The token is good, but not for this; nothing was done."""

    code = "scope_too_small"

    def __init__(self, granted: Scope, needed: Scope) -> None:
        super().__init__(f"This needs a token of scope {needed!r}; yours has {granted!r}")


def grant(http: Asgi, scope: Scope) -> None:
    """Note what the caller behind *http* may do."""
    http[_GRANTED] = scope


def granted(http: Asgi) -> Scope | None:
    """The scope of the token that the caller behind *http* has shown; None: none was needed."""
    scope: Scope | None = http.get(_GRANTED)
    return scope


def check(http: Asgi, needed: Scope) -> None:
    """Return when the caller may. Where no door has granted anything, there is none to pass.

    Raises:
        ScopeTooSmall: It may not.
    """
    allowed = granted(http) or "admin"
    if SCOPES.index(allowed) < SCOPES.index(needed):
        raise ScopeTooSmall(allowed, needed)


def usual(method: str) -> Scope:
    """What a route of *method* needs that says nothing else."""
    return "read" if method in ("GET", "HEAD") else "prompt"
