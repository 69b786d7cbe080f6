"""The HTTP application of one gateway."""

from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from posthouse.errors import PosthouseError
from posthouse.gateway.diagnostics import Diagnostics
from posthouse.gateway.http.diagnostics import note_invalid, note_refused, with_completion_log
from posthouse.gateway.http.routes import ROUTES
from posthouse.gateway.service import Gateway
from posthouse.mailbox import MailTransportError
from posthouse.queue import QueueFull
from posthouse.web import app as web
from posthouse.web.access import AccessControl, RefusalResponse
from posthouse.web.token import authenticator

#: Does not match the notifier's routes, `/v1/mail-notifier`.
_MAIL_ROUTES = "/v1/mail/"
MAIL_UNAVAILABLE = RefusalResponse(
    status=503, detail="Mail is served only by gateways that listen on 127.0.0.1; attach this one there"
)


def build(gateway: Gateway, token: bytes | None = None) -> ASGIApp:
    """The application that serves *gateway*; with *token*, also remote callers that present it."""
    app: ASGIApp = web.build(
        gateway,
        ROUTES,
        observer=_RefusalLog(gateway.diagnostics),
        statuses={QueueFull: 429, MailTransportError: 502},
    )
    if token is not None:
        app = without_mail(app)
    return with_completion_log(
        AccessControl(app, None if token is None else authenticator(token)), gateway.diagnostics
    )


def without_mail(app: ASGIApp) -> ASGIApp:
    """*app* for a listener beyond loopback, which serves mail to no caller, local ones included."""

    async def app_without_mail(scope: Scope, receive: Receive, send: Send) -> None:
        is_mail = scope["type"] == "http" and scope["path"].startswith(_MAIL_ROUTES)
        await (MAIL_UNAVAILABLE if is_mail else app)(scope, receive, send)

    return app_without_mail


class _RefusalLog:
    """Writes refused requests to the diagnostic log."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics

    def on_invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None:
        note_invalid(self._diagnostics, scope, problems)

    def on_refused(self, scope: Scope, error: PosthouseError) -> None:
        note_refused(self._diagnostics, scope, error)
