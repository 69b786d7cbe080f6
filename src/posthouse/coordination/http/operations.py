"""The routes for operators of the server: is it ready, numbers, and the documents of its own routes."""

from starlette.responses import HTMLResponse, JSONResponse, Response

from posthouse.contracts.server_operations_http import ServerReadiness
from posthouse.coordination.service import Coordination
from posthouse.web import exposition
from posthouse.web.route import Route

_DOCUMENT = "/openapi.json"


async def ready(server: Coordination, _: None) -> Response:
    readiness = server.operations.readiness()
    return JSONResponse(readiness.model_dump(mode="json"), 200 if readiness.ready else 503)


async def metrics(server: Coordination, _: None) -> Response:
    return Response(exposition.render(server.operations.metrics()), media_type=exposition.MEDIA_TYPE)


async def openapi_document(_: Coordination, __: None) -> Response:
    from posthouse.coordination.http import openapi  # made from the table that holds this route

    return Response(openapi.render(), media_type="application/json")


async def docs(_: Coordination, __: None) -> Response:
    from posthouse.coordination.http import openapi
    from posthouse.web import page

    return HTMLResponse(page.render(openapi.document(), source=_DOCUMENT), headers=page.SECURITY)


ROUTES = (
    Route(
        method="GET",
        path="/ready",
        summary="Does the server know its agents, and stay? 200 if so, 503 with the reason if not.",
        handler=ready,
        response=ServerReadiness,
        refusals={503: "It does not, or is about to end."},
        refusal=ServerReadiness,
    ),
    Route(
        method="GET",
        path="/metrics",
        summary="Numbers in the text format of Prometheus.",
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
        summary="This document as a page for people.",
        handler=docs,
        response=None,
        media_type="text/html",
    ),
)
