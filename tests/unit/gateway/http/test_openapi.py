"""The OpenAPI document."""

import json
from pathlib import Path

from posthouse.gateway.http import openapi

COMMITTED = Path(__file__).parents[4] / "docs" / "openapi" / "gateway.json"


#: What any request may get before its route is asked.
EVERYWHERE = {400, 401, 403, 408, 414, 431, 501, 503, 505}
ONE_REMINDER = "/v1/reminders/{reminder_id}"
ANSWERS = {
    ("get", "/health"): {200},
    ("get", "/v1/status"): {200},
    ("post", "/v1/requests"): {202, 409, 413, 422, 429},
    ("post", "/v1/reconciliation"): {200, 409, 413, 422},
    ("post", "/v1/control/prompt"): {200, 409, 413, 422},
    ("post", "/v1/control/send-keys"): {200, 409, 413, 422},
    ("get", "/v1/control/headless/state"): {200, 422},
    ("post", "/v1/control/headless/next-prompt-session"): {200, 413, 422},
    ("get", "/v1/control/tui/state"): {200, 422},
    ("get", "/v1/control/tui/belief"): {200, 422},
    ("post", "/v1/control/tui/answer"): {200, 409, 413, 422},
    ("get", "/v1/control/tui/answer-rules"): {200, 422},
    ("put", "/v1/control/tui/answer-rules"): {200, 413, 422},
    ("get", "/v1/control/tui/limit"): {200, 422},
    ("post", "/v1/control/tui/limit/resume"): {200, 409, 422},
    ("get", "/v1/control/tui/history"): {200, 422},
    ("post", "/v1/control/tui/note-prompt"): {200, 413, 422},
    ("get", "/v1/requests"): {200, 422},
    ("get", "/v1/requests/{request_id}"): {200, 404, 422},
    ("delete", "/v1/requests/{request_id}"): {200, 404, 409},
    ("get", "/v1/reminders"): {200},
    ("post", "/v1/reminders"): {200, 409, 413, 422},
    ("get", ONE_REMINDER): {200, 404},
    ("get", "/v1/events"): {200, 422},
    ("get", "/ready"): {200},
    ("get", "/metrics"): {200},
    ("get", "/openapi.json"): {200},
    ("get", "/docs"): {200},
    ("put", ONE_REMINDER): {200, 404, 409, 413, 422},
    ("delete", ONE_REMINDER): {200, 404},
    ("get", "/v1/mail/status"): {200, 422, 502},
    ("post", "/v1/mail/peek"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/read"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/reply"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/mark"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/move"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/archive"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/thread"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/progress"): {200, 404, 413, 422, 502},
    ("post", "/v1/mail/list"): {200, 413, 422, 502},
    ("post", "/v1/mail/send"): {200, 413, 422, 502},
    ("post", "/v1/mail/post"): {200, 413, 422, 502},
    ("post", "/v1/mail/search"): {200, 413, 422, 502},
    ("get", "/v1/mail-notifier"): {200},
    ("put", "/v1/mail-notifier"): {200, 413, 422, 502},
    ("delete", "/v1/mail-notifier"): {200},
    ("get", "/v1/mail-notifier/wake"): {200},
    ("put", "/v1/mail-notifier/wake"): {200, 413, 422},
}


def test_the_committed_document_is_the_one_the_routes_make() -> None:
    """A change of the contract shows in review. Renew it: python -m posthouse.gateway.http.openapi > …"""
    assert COMMITTED.read_text(encoding="utf-8") == openapi.render()


def test_every_route_says_what_it_may_answer() -> None:
    """Successes and refusals are all documented, and every reference leads somewhere."""
    document = openapi.document()

    answers = {
        (method, path): {int(status) for status in operation["responses"]} - EVERYWHERE
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert answers == ANSWERS
    text = json.dumps(document)
    for name in _references(text):
        assert name in document["components"]["schemas"]


def _references(text: str) -> set[str]:
    return {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
