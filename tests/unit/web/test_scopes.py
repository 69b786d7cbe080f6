"""What a token allows, route by route."""

import asyncio
from typing import Any

import pytest
from starlette.types import ASGIApp, Scope

from posthouse.contracts.managed_agents_http import Done
from posthouse.errors import PosthouseError
from posthouse.testing.gateway import call
from posthouse.web import app, scopes
from posthouse.web.access import AccessControl
from posthouse.web.route import Route

ELSEWHERE = ("192.0.2.7", 50000)


class _Silent:
    def on_invalid(self, scope: Scope, problems: list[dict[str, Any]]) -> None: ...

    def on_refused(self, scope: Scope, error: PosthouseError) -> None: ...


async def done(_: None, __: None) -> Done:
    return Done()


def served() -> ASGIApp:
    """A route of each scope, and the name of a scope as its token."""
    routes = [
        Route(method="GET", path="/look", summary="", handler=done, response=Done),
        Route(method="POST", path="/prompt", summary="", handler=done, response=Done),
        Route(method="POST", path="/end", summary="", handler=done, response=Done, scope="admin"),
        Route(method="POST", path="/list", summary="", handler=done, response=Done, scope="read"),
    ]
    tokens: dict[bytes, scopes.Scope] = {b"Bearer r": "read", b"Bearer p": "prompt", b"Bearer a": "admin"}
    return AccessControl(app.build(None, routes, observer=_Silent()), tokens.get)


ASKED = (("GET", "/look"), ("POST", "/list"), ("POST", "/prompt"), ("POST", "/end"))


@pytest.mark.parametrize(
    ("headers", "client", "expected"),
    [
        ({"authorization": "Bearer r"}, ELSEWHERE, [200, 200, 403, 403]),
        ({"authorization": "Bearer p"}, ELSEWHERE, [200, 200, 200, 403]),
        ({"authorization": "Bearer a"}, ELSEWHERE, [200, 200, 200, 200]),
        ({"authorization": "Bearer x"}, ELSEWHERE, [401, 401, 401, 401]),
        ({}, ELSEWHERE, [401, 401, 401, 401]),
        ({}, ("127.0.0.1", 1), [200, 200, 200, 200]),
    ],
    ids=["read", "prompt", "admin", "a wrong one", "none", "this machine"],
)
def test_each_scope_allows_what_the_smaller_ones_do(
    headers: dict[str, str], client: tuple[str, int], expected: list[int]
) -> None:
    """This machine needs no token and may do everything."""
    asked = served()
    answers = [asyncio.run(call(asked, *one, headers=headers, client=client)) for one in ASKED]

    assert [answer.status for answer in answers] == expected


def test_a_refusal_names_the_scope_that_is_needed() -> None:
    """So that the caller knows which token to ask for."""
    headers = {"authorization": "Bearer r"}
    answer = asyncio.run(call(served(), "POST", "/end", headers=headers, client=ELSEWHERE))

    assert (answer.status, answer.body) == (
        403,
        {"detail": "This needs a token of scope 'admin'; yours has 'read'"},
    )
