"""Routes for operators of a gateway."""

from posthouse.contracts.gateway_operations_http import Readiness
from posthouse.web import operators
from posthouse.web.operators import Document


def _document() -> Document:
    from posthouse.gateway.http import openapi

    return openapi


ROUTES = operators.routes(
    Readiness,
    ready_summary="Would a prompt be accepted now?",
    unready_reason="A prompt would not be accepted now.",
    document=_document,
)
