"""The routes for operators of the server."""

from posthouse.contracts.server_operations_http import ServerReadiness
from posthouse.web import operators
from posthouse.web.operators import Document


def _document() -> Document:
    from posthouse.server.http import openapi

    return openapi


ROUTES = operators.routes(
    ServerReadiness,
    question="Does the server know its agents, and stay?",
    otherwise="It does not, or is about to end.",
    document=_document,
)
