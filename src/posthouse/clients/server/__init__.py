"""Clients of a coordination server: every agent of its registry behind one address.

`ServerClient` blocks, `AsyncServerClient` awaits; both have the same methods and raise the same errors.
Standard library and msgspec only.
"""

from typing import TYPE_CHECKING, Any

from posthouse.clients.server.client import SERVICE, ServerClient
from posthouse.clients.server.errors import (
    BadServerAddress,
    NotAServer,
    ServerConflict,
    ServerDenied,
    ServerInvalid,
    ServerNotFound,
    ServerRefused,
    ServerUnavailable,
    ServerUnreachable,
    ServerUnsupported,
    UnexpectedResponse,
)

if TYPE_CHECKING:
    from posthouse.clients.server.async_client import AsyncServerClient
    from posthouse.clients.server.gateway import ManagedGateway

__all__ = [
    "SERVICE",
    "AsyncServerClient",
    "BadServerAddress",
    "ManagedGateway",
    "NotAServer",
    "ServerClient",
    "ServerConflict",
    "ServerDenied",
    "ServerInvalid",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "ServerUnreachable",
    "ServerUnsupported",
    "UnexpectedResponse",
]


#: Imported on first use, to keep the start of commands fast.
_LATE = {"AsyncServerClient": "async_client", "ManagedGateway": "gateway"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
