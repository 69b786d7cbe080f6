"""The HTTP application of one gateway."""

from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from posthouse.errors import PosthouseError
from posthouse.gateway.diagnostics import Diagnostics
from posthouse.gateway.http.diagnostics import note_invalid, note_refused, watched
from posthouse.gateway.http.routes import ROUTES
from posthouse.gateway.service import Gateway
from posthouse.mailbox import MailTrouble
from posthouse.queue import QueueFull
from posthouse.web import app as web
from posthouse.web.access import Door, Refusal
from posthouse.web.token import proof

#: Not the notifier's, which are `/v1/mail-notifier`.
_MAIL_ROUTES = "/v1/mail/"
NO_MAIL_HERE = Refusal(
    status=503, detail="Mail is served only by gateways that listen on 127.0.0.1; attach this one there"
)


def build(gateway: Gateway, token: bytes | None = None) -> ASGIApp:
    """The application that serves *gateway*; with *token*, also to those beyond this machine who show it."""
    app: ASGIApp = web.build(
        gateway, ROUTES, witness=_Witness(gateway.diagnostics), statuses={QueueFull: 429, MailTrouble: 502}
    )
    if token is not None:
        app = without_mail(app)
    return watched(Door(app, None if token is None else proof(token)), gateway.diagnostics)


def without_mail(app: ASGIApp) -> ASGIApp:
    """*app* for a listener beyond loopback, where mail is not served, not even to this machine."""

    async def mailless(scope: Scope, receive: Receive, send: Send) -> None:
        is_mail = scope["type"] == "http" and scope["path"].startswith(_MAIL_ROUTES)
        await (NO_MAIL_HERE if is_mail else app)(scope, receive, send)

    return mailless


class _Witness:
    """Notes refusals in the diagnostic log."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics

    def invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None:
        note_invalid(self._diagnostics, scope, problems)

    def refused(self, scope: Scope, error: PosthouseError) -> None:
        note_refused(self._diagnostics, scope, error)
