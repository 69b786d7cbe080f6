"""The HTTP application of the coordination server."""

from typing import Any

from starlette.types import ASGIApp, Scope

from posthouse.errors import PosthouseError
from posthouse.server.access import Access
from posthouse.server.gateways import GatewayGarbled
from posthouse.server.http.routes import ROUTES
from posthouse.server.service import Coordination
from posthouse.web import app as web
from posthouse.web.access import Door
from posthouse.web.file_response import RangeBeyondEnd
from posthouse.web.response_counter import counted
from posthouse.web.tracing import traced


def build(server: Coordination, access: Access | None = None) -> ASGIApp:
    """The application that serves *server*; with *access*, also callers elsewhere that have a token."""
    app = web.build(server, ROUTES, witness=_NoWitness(), statuses={GatewayGarbled: 502, RangeBeyondEnd: 416})
    # Only whoever is let in begins or continues a trace.
    door = Door(traced(app, server.tracing), access)
    if access is not None:
        access.on_change = door.recheck
    return counted(door, server.operations.answers)


class _NoWitness:
    """Nobody asks for a log of refusals here."""

    def invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None: ...

    def refused(self, scope: Scope, error: PosthouseError) -> None: ...
