"""The HTTP application of the coordination server."""

from typing import Any

from starlette.types import ASGIApp, Scope

from posthouse.coordination.gateways import GatewayGarbled
from posthouse.coordination.http.routes import ROUTES
from posthouse.coordination.service import Coordination
from posthouse.errors import PosthouseError
from posthouse.web import app as web
from posthouse.web.door import Door


def build(server: Coordination, token: bytes | None = None) -> ASGIApp:
    """The application that serves *server*; with *token*, also to those beyond this machine who show it."""
    return Door(web.build(server, ROUTES, witness=_NoWitness(), statuses={GatewayGarbled: 502}), token)


class _NoWitness:
    """Nobody asks for a log of refusals here."""

    def invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None: ...

    def refused(self, scope: Scope, error: PosthouseError) -> None: ...
