"""The OpenAPI document."""

import json
from pathlib import Path

from posthouse.gateway import openapi

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi" / "gateway.json"


def test_the_committed_document_is_the_one_the_routes_make() -> None:
    """A change of the contract shows in review. Renew it: python -m posthouse.gateway.openapi > …"""
    assert COMMITTED.read_text(encoding="utf-8") == openapi.render()


def test_every_route_says_what_it_may_answer() -> None:
    """Successes and refusals are all documented, and every reference leads somewhere."""
    document = openapi.document()

    answers = {
        (method, path): sorted(operation["responses"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert answers == {
        ("get", "/health"): ["200", "403"],
        ("get", "/v1/status"): ["200", "403"],
        ("post", "/v1/requests"): ["202", "400", "403", "408", "409", "413", "422", "503"],
    }
    text = json.dumps(document)
    for name in _references(text):
        assert name in document["components"]["schemas"]


def _references(text: str) -> set[str]:
    return {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
