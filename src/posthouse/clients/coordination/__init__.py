"""Clients of a coordination server: every agent of its registry behind one address.

`CoordinationClient` blocks, `AsyncCoordinationClient` awaits; both ask the same questions and raise the same
errors. Standard library and msgspec only.
"""

from typing import TYPE_CHECKING, Any

from posthouse.clients.coordination.client import SERVICE, CoordinationClient
from posthouse.clients.coordination.gateway import ManagedGateway
from posthouse.clients.coordination.refusals import (
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
    from posthouse.clients.coordination.async_client import AsyncCoordinationClient

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


def __getattr__(name: str) -> Any:
    # Commands that only ask once do without what asyncio costs them.
    if name != "AsyncCoordinationClient":
        raise AttributeError(name)
    from posthouse.clients.coordination.async_client import AsyncCoordinationClient

    return AsyncCoordinationClient
