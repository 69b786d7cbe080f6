"""Traces the requests of an application."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posthouse.support.tracing import Span, Tracing
from posthouse.web.app import ROUTE
from posthouse.web.route import Route

_FIRST_FAILURE = 500


def trace_requests(app: ASGIApp, tracing: Tracing) -> ASGIApp:
    """*app* with a span around every request; *app* itself when tracing is off."""
    if not tracing.is_enabled:
        return app

    async def tracing_app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with tracing.server_span(scope["method"], headers) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _set_attributes(span, scope, message["status"])
                await send(message)

            span.set_attribute("http.request.method", scope["method"])
            await app(scope, receive, noting)

    return tracing_app


def _set_attributes(span: Span, scope: Scope, status: int) -> None:
    route: Route | None = scope.get(ROUTE)
    if route is not None:
        span.rename(f"{route.method} {route.path}")
        span.set_attribute("http.route", route.path)
    span.set_attribute("http.response.status_code", status)
    if status >= _FIRST_FAILURE:
        span.fail(f"status {status}")
