"""Clients of a coordination server: every agent of its registry behind one address.

`CoordinationClient` blocks, `AsyncCoordinationClient` awaits; both ask the same questions and raise the same
errors. Standard library and msgspec only.
"""

from typing import TYPE_CHECKING, Any

from posthouse.clients.server.client import SERVICE, CoordinationClient
from posthouse.clients.server.errors import (
    BadAddress,
    NotAPair,
    OtherShape,
    ServerCannot,
    ServerConflict,
    ServerDenied,
    ServerInvalid,
    ServerNotFound,
    ServerRefused,
    ServerUnavailable,
    ServerUnreachable,
)

if TYPE_CHECKING:
    from posthouse.clients.server.async_client import AsyncCoordinationClient
    from posthouse.clients.server.gateway import ManagedGateway

__all__ = [
    "SERVICE",
    "AsyncCoordinationClient",
    "BadAddress",
    "CoordinationClient",
    "ManagedGateway",
    "NotAPair",
    "OtherShape",
    "ServerCannot",
    "ServerConflict",
    "ServerDenied",
    "ServerInvalid",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "ServerUnreachable",
]


#: Commands that only ask once do without what these import.
_LATE = {"AsyncCoordinationClient": "async_client", "ManagedGateway": "gateway"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
