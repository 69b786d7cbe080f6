"""Routes for operators: metrics, readiness and the API document."""

from posthouse.contracts.server_operations_http import ServerReadiness
from posthouse.web import operators
from posthouse.web.operators import Document


def _document() -> Document:
    from posthouse.server.http import openapi

    return openapi


ROUTES = operators.routes(
    ServerReadiness,
    ready_summary="Readiness: the registry is readable and the server keeps running.",
    unready_reason="The server is not ready or is shutting down.",
    document=_document,
)
