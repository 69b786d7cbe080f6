"""What the diagnostic log says of HTTP and of the running log: routes and outcomes, never contents."""

import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posthouse.errors import PosthouseError
from posthouse.gateway.diagnostics import Diagnostics, Level, NoDiagnostics
from posthouse.support.process_log import OWN_FIELDS

#: Of the problems of a body; the rest adds nothing.
_MAX_TOLD = 10
_MAX_NAME = 64


def watched(app: ASGIApp, diagnostics: Diagnostics) -> ASGIApp:
    """*app*, with every answer noted if anybody wants that; otherwise it costs nothing."""
    return app if isinstance(diagnostics, NoDiagnostics) else Completions(app, diagnostics)


class Completions:
    """Notes how each request ended."""

    def __init__(self, app: ASGIApp, diagnostics: Diagnostics) -> None:
        self._app = app
        self._diagnostics = diagnostics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            milliseconds = round((time.monotonic() - begun) * 1000, 3)
            self._note(scope, status, milliseconds)

    def _note(self, scope: Scope, status: int, milliseconds: float) -> None:
        # A refusal of 4xx is the caller's affair; only our own failures are worth a warning.
        level: Level = "error" if status >= 500 or status == 0 else "info"
        method, path = scope["method"], str(scope["path"])[:_MAX_NAME]
        self._diagnostics.note(
            level,
            "gateway.http_completed",
            key=f"http {method} {path} {status}",
            method=method,
            path=path,
            status_code=status or None,
            duration_ms=milliseconds,
        )


def note_invalid(diagnostics: Diagnostics, scope: Scope, problems: list[dict[str, Any]]) -> None:
    """Note that a body was refused before its route saw it: which fields, not what was in them."""
    method, path = scope["method"], str(scope["path"])[:_MAX_NAME]
    told = [
        {"type": str(one["type"]), "loc": [str(part)[:_MAX_NAME] for part in one["loc"]]}
        for one in problems[:_MAX_TOLD]
    ]
    diagnostics.note(
        "warning",
        "gateway.http_validation_failed",
        key=f"invalid {method} {path} {sorted({one['type'] for one in problems})}",
        method=method,
        path=path,
        problem_count=len(problems),
        problems=told,
    )


def note_refused(diagnostics: Diagnostics, scope: Scope, error: PosthouseError) -> None:
    """Note that a route said no: by the refusal's stable word, for its message may repeat what was asked."""
    method, path = scope["method"], str(scope["path"])[:_MAX_NAME]
    code = getattr(getattr(error, "detail", None), "error_code", error.code)
    diagnostics.note(
        "warning",
        "gateway.request_refused",
        key=f"refused {method} {path} {code}",
        method=method,
        path=path,
        error_code=code,
    )


class LogWarnings(logging.Handler):
    """Notes every warning and error of the running log."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__(level=logging.WARNING)
        self._diagnostics = diagnostics

    def emit(self, record: logging.LogRecord) -> None:
        fields = {name: value for name, value in record.__dict__.items() if name not in OWN_FIELDS}
        kind = record.exc_info[0] if record.exc_info else None
        self._diagnostics.note(
            "error" if record.levelno >= logging.ERROR else "warning",
            "gateway.running_log_warning",
            key=f"log {record.msg}",
            message=record.getMessage(),
            exception=None if kind is None else kind.__name__,
            fields=fields,
        )
