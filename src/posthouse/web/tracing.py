"""Traces the requests of an application."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posthouse.support.tracing import Span, Tracing
from posthouse.web.app import ROUTE
from posthouse.web.route import Route

_FIRST_FAILURE = 500


def traced(app: ASGIApp, tracing: Tracing) -> ASGIApp:
    """*app*, with a span around every answer; *app* itself when nobody collects them."""
    if not tracing.is_on:
        return app

    async def tracing_app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with tracing.serving(scope["method"], headers) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note(span, scope, message["status"])
                await send(message)

            span.note("http.request.method", scope["method"])
            await app(scope, receive, noting)

    return tracing_app


def _note(span: Span, scope: Scope, status: int) -> None:
    route: Route | None = scope.get(ROUTE)
    if route is not None:
        span.rename(f"{route.method} {route.path}")
        span.note("http.route", route.path)
    span.note("http.response.status_code", status)
    if status >= _FIRST_FAILURE:
        span.fail(f"status {status}")
