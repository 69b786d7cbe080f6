"""The operator routes of any process: readiness, metrics and API documentation."""

from collections.abc import Callable
from typing import Any, Protocol

from pydantic import BaseModel
from starlette.responses import HTMLResponse, JSONResponse, Response

from posthouse.contracts.operations_http import BackgroundFailure
from posthouse.support.supervision import Supervisor
from posthouse.web import exposition
from posthouse.web.route import Route

_DOCUMENT = "/openapi.json"


class Document(Protocol):
    """The OpenAPI document of a process's whole table."""

    def document(self) -> dict[str, Any]: ...

    def render(self) -> str:
        """The text of the committed file."""


def routes(
    readiness: type[BaseModel], *, ready_summary: str, unready_reason: str, document: Callable[[], Document]
) -> tuple[Route, ...]:
    """The routes of a process whose service has `operations`.

    *ready_summary* describes readiness, *unready_reason* the 503. *document* is called late, because it is
    generated from the table that contains these routes.
    """

    async def openapi_document(_: Any, __: None) -> Response:
        return Response(document().render(), media_type="application/json")

    async def docs(_: Any, __: None) -> Response:
        from posthouse.web import page  # imported late: rarely requested

        return HTMLResponse(page.render(document().document(), source=_DOCUMENT), headers=page.SECURITY)

    return (
        Route(
            method="GET",
            path="/ready",
            summary=f"{ready_summary} 200 if so, 503 with the reason if not.",
            handler=ready,
            response=readiness,
            refusals={503: unready_reason},
            refusal=readiness,
        ),
        Route(
            method="GET",
            path="/metrics",
            summary="Metrics in the Prometheus text format.",
            handler=metrics,
            response=None,
            media_type="text/plain",
        ),
        Route(
            method="GET",
            path=_DOCUMENT,
            summary="This document.",
            handler=openapi_document,
            response=None,
            schema={"type": "object"},
        ),
        Route(
            method="GET",
            path="/docs",
            summary="This document as an HTML page.",
            handler=docs,
            response=None,
            media_type="text/html",
        ),
    )


def failures_of(background: Supervisor) -> tuple[BackgroundFailure, ...]:
    """The failed background tasks, as `/ready` reports them."""
    return tuple(
        BackgroundFailure(
            task=one.task,
            deaths=one.deaths,
            error=one.error,
            died_at_utc=one.died_at_utc,
            is_running=one.is_running,
        )
        for one in background.failures
    )


async def ready(service: Any, _: None) -> Response:
    readiness = await service.operations.readiness()
    return JSONResponse(readiness.model_dump(mode="json"), 200 if readiness.ready else 503)


async def metrics(service: Any, _: None) -> Response:
    return Response(exposition.render(service.operations.metrics()), media_type=exposition.MEDIA_TYPE)
