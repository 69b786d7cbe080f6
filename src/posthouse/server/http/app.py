"""The HTTP application of the coordination server."""

from typing import Any

from starlette.types import ASGIApp, Scope

from posthouse.errors import PosthouseError
from posthouse.server.access import TokenAuthenticator
from posthouse.server.gateways import BadGatewayResponse
from posthouse.server.http.routes import ROUTES
from posthouse.server.service import ServerService
from posthouse.web import app as web
from posthouse.web.access import AccessControl
from posthouse.web.file_response import RangeBeyondEnd
from posthouse.web.response_counter import count_responses
from posthouse.web.tracing import trace_requests


def build(server: ServerService, access: TokenAuthenticator | None = None) -> ASGIApp:
    """The ASGI application of *server*; with *access*, remote callers with a token are served too."""
    app = web.build(
        server, ROUTES, observer=_NoObserver(), statuses={BadGatewayResponse: 502, RangeBeyondEnd: 416}
    )
    # Only admitted requests start or continue a trace.
    door = AccessControl(trace_requests(app, server.tracing), access)
    if access is not None:
        access.on_change = door.recheck
    return count_responses(door, server.operations.answers)


class _NoObserver:
    """Discards refusals; this server does not log them."""

    def on_invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None: ...

    def on_refused(self, scope: Scope, error: PosthouseError) -> None: ...
