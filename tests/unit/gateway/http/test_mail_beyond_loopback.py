"""Where mail is served."""

import asyncio

import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from posthouse.gateway.http.app import MAIL_UNAVAILABLE, without_mail
from posthouse.testing.gateway import call


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"let": "in"})(scope, receive, send)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/v1/mail/status", 503, {"detail": MAIL_UNAVAILABLE.detail}),
        ("/v1/mail/send", 503, {"detail": MAIL_UNAVAILABLE.detail}),
        ("/v1/mail-notifier", 200, {"let": "in"}),
    ],
)
def test_mail_is_not_served_where_others_can_reach_it(path: str, status: int, body: dict[str, str]) -> None:
    """Its routes answer 503 to everybody; the notifier's do not."""
    answer = asyncio.run(call(without_mail(inside), "GET", path))

    assert (answer.status, answer.body) == (status, body)
