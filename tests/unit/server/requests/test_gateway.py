"""What a gateway's answer to a request means for whoever asked the server."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from posthouse.clients.connections import Answer
from posthouse.server.gateways import LiveGateway
from posthouse.server.requests import gateway
from posthouse.server.requests.errors import Refused
from posthouse.server.turns.agent_turns import NotOperable


@dataclass
class FakeGateway:
    status: int
    body: bytes
    asked: list[Any] = field(default_factory=list)

    async def ask(self, method: str, path: str, *, body: bytes) -> Answer:
        self.asked.append((method, path, json.loads(body)))
        return Answer(status=self.status, headers=(), body=self.body)

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
        (409, b'{"detail": "reconcile first"}', NotOperable, '(409): "reconcile first"'),
        (503, b'{"detail": "gone"}', NotOperable, '(503): "gone"'),
        (500, b"<html>", NotOperable, "(500)"),
        (422, b'{"detail": [{"msg": "no"}]}', Refused, '[{"msg": "no"}]'),
    ],
)
def test_a_refusal_keeps_the_gateways_words(
    status: int, body: bytes, error: type[Exception], said: str
) -> None:
    """409 is for headless turns alone, so everything but a bad request is unavailable."""
    with pytest.raises(error) as refused:
        given(FakeGateway(status, body))

    assert said in str(refused.value)
