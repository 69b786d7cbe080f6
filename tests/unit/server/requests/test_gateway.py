"""How the server maps a gateway's response to a request."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from posthouse.clients.connections import HttpResponse
from posthouse.errors import InvalidInput, PosthouseError, Unavailable
from posthouse.server.gateways import LiveGateway
from posthouse.server.requests import gateway


@dataclass
class FakeGateway:
    status: int
    body: bytes
    asked: list[Any] = field(default_factory=list)

    async def request(self, method: str, path: str, *, body: bytes) -> HttpResponse:
        self.asked.append((method, path, json.loads(body)))
        return HttpResponse(status=self.status, headers=(), body=self.body)

    def __str__(self) -> str:
        return "the gateway"


def given(fake: FakeGateway) -> str:
    return asyncio.run(gateway.prompt(cast(LiveGateway, fake), "hello"))


@pytest.mark.parametrize("status", [200, 202])
def test_an_accepted_prompt_has_the_gateways_id(status: int) -> None:
    """Other gateways answer 200 where ours answers 202."""
    fake = FakeGateway(status, b'{"request_id": "gwreq-1", "of_a_newer_one": 1}')

    assert given(fake) == "gwreq-1"
    assert fake.asked == [
        (
            "POST",
            "/v1/requests",
            {"schema_version": 1, "kind": "submit_prompt", "payload": {"prompt": "hello"}},
        )
    ]


@pytest.mark.parametrize(
    ("status", "body", "error", "said"),
    [
        (
            409,
            b'{"detail": "reconcile first"}',
            (Unavailable, "agent_not_operable"),
            '(409): "reconcile first"',
        ),
        (503, b'{"detail": "gone"}', (Unavailable, "agent_not_operable"), '(503): "gone"'),
        (500, b"<html>", (Unavailable, "agent_not_operable"), "(500)"),
        (422, b'{"detail": [{"msg": "no"}]}', (InvalidInput, "request_refused"), '[{"msg": "no"}]'),
    ],
)
def test_a_refusal_keeps_the_gateways_words(
    status: int, body: bytes, error: tuple[type[PosthouseError], str], said: str
) -> None:
    """409 is for headless turns alone, so everything but a bad request is unavailable."""
    family, code = error
    with pytest.raises(family) as refused:
        given(FakeGateway(status, body))

    assert refused.value.code == code
    assert said in str(refused.value)
