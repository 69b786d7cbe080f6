"""Diagnostic log entries about HTTP and the running log: routes and outcomes, never contents."""

import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posthouse.errors import PosthouseError
from posthouse.gateway.diagnostics import Diagnostics, Level, NoDiagnostics
from posthouse.support.process_log import OWN_FIELDS

#: Logged problems of one request body.
_MAX_PROBLEMS = 10
_MAX_NAME = 64


def with_completion_log(app: ASGIApp, diagnostics: Diagnostics) -> ASGIApp:
    """*app*, wrapped in a `CompletionLog` only if the diagnostic log is on."""
    return app if isinstance(diagnostics, NoDiagnostics) else CompletionLog(app, diagnostics)


class CompletionLog:
    """Writes the status and the duration of each request to the diagnostic log."""

    def __init__(self, app: ASGIApp, diagnostics: Diagnostics) -> None:
        self._app = app
        self._diagnostics = diagnostics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_at = time.monotonic()
        status = 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            milliseconds = round((time.monotonic() - started_at) * 1000, 3)
            self._note(scope, status, milliseconds)

    def _note(self, scope: Scope, status: int, milliseconds: float) -> None:
        # A 4xx is the caller's error; only our own failures are logged as errors.
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
    """Log the invalid fields of a request body, without their values."""
    method, path = scope["method"], str(scope["path"])[:_MAX_NAME]
    reported = [
        {"type": str(one["type"]), "loc": [str(part)[:_MAX_NAME] for part in one["loc"]]}
        for one in problems[:_MAX_PROBLEMS]
    ]
    diagnostics.note(
        "warning",
        "gateway.http_validation_failed",
        key=f"invalid {method} {path} {sorted({one['type'] for one in problems})}",
        method=method,
        path=path,
        problem_count=len(problems),
        problems=reported,
    )


def note_refused(diagnostics: Diagnostics, scope: Scope, error: PosthouseError) -> None:
    """Log the error code of a refused request; the message may repeat parts of the request."""
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
    """Copies every warning and error of the running log."""

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
