"""Who is let in."""

import asyncio
import os
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from posthouse.support import peers
from posthouse.testing.gateway import Answer, call
from posthouse.web import door, token
from posthouse.web.door import Door

TOKEN = b"a-token-of-forty-three-characters-as-they-are"
HERE, ELSEWHERE = ("127.0.0.1", 50000), ("192.0.2.7", 50000)
BEARER = {"authorization": f"Bearer {TOKEN.decode()}", "host": "192.0.2.1:43123"}


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"let": "in"})(scope, receive, send)


def ask(
    headers: Mapping[str, str],
    client: tuple[str, int],
    *,
    wanted: bytes | None = None,
) -> Answer:
    made = Door(inside, None if wanted is None else token.proof(wanted))
    return asyncio.run(call(made, "GET", "/health", headers=headers, client=client))


def outcome(answer: Answer) -> tuple[int, Any]:
    return answer.status, answer.body


LET_IN = (200, {"let": "in"})


def no(refusal: door.Refusal) -> tuple[int, Any]:
    return refusal.status, {"detail": refusal.detail}


LOOPBACK = {
    "a program on this machine": ({}, HERE, LET_IN),
    "from another loopback address": ({}, ("127.0.0.5", 1), LET_IN),
    "by name": ({"host": "localhost:43123"}, HERE, LET_IN),
    "by name without port": ({"host": "LOCALHOST"}, HERE, LET_IN),
    "its own page": ({"origin": "http://127.0.0.1:43123"}, HERE, LET_IN),
    "another machine": ({}, ELSEWHERE, no(door.NOT_FROM_HERE)),
    "another machine with some token": (BEARER, ELSEWHERE, no(door.NOT_FROM_HERE)),
    "a name that was pointed here": ({"host": "evil.example:43123"}, HERE, no(door.FOREIGN_HOST)),
    "a name that only starts right": ({"host": "127.0.0.1.evil.example"}, HERE, no(door.FOREIGN_HOST)),
    "a name that only ends right": ({"host": "evil.localhost"}, HERE, no(door.FOREIGN_HOST)),
    "every address": ({"host": "0.0.0.0:43123"}, HERE, no(door.FOREIGN_HOST)),
    "no host": ({"host": ""}, HERE, no(door.FOREIGN_HOST)),
    "a foreign page": ({"origin": "https://evil.example"}, HERE, no(door.FOREIGN_PAGE)),
    "a page of another local port": ({"origin": "http://127.0.0.1:3000"}, HERE, no(door.FOREIGN_PAGE)),
    "a page without origin": ({"origin": "null"}, HERE, no(door.FOREIGN_PAGE)),
}


@pytest.mark.parametrize(("headers", "client", "expected"), LOOPBACK.values(), ids=LOOPBACK.keys())
def test_on_loopback_only_programs_on_this_machine_are_let_in(
    headers: Mapping[str, str], client: tuple[str, int], expected: tuple[int, Any]
) -> None:
    """A page in a browser, by whatever trick, is not served, and no token is asked for."""
    assert outcome(ask(headers, client)) == expected


BEYOND = {
    "a program on this machine": ({}, HERE, LET_IN),
    "the same with a token it does not need": ({"authorization": "Bearer x"}, HERE, LET_IN),
    "a page by a name that was pointed here": (
        {"host": "evil.example", "authorization": BEARER["authorization"]},
        HERE,
        no(door.FOREIGN_HOST),
    ),
    "elsewhere with the token": (BEARER, ELSEWHERE, LET_IN),
    "elsewhere by any name": ({**BEARER, "host": "agents.example"}, ELSEWHERE, LET_IN),
    "the scheme in capitals": (
        {**BEARER, "authorization": f"BEARER {TOKEN.decode()}"},
        ELSEWHERE,
        LET_IN,
    ),
    "elsewhere without": ({"host": "192.0.2.1"}, ELSEWHERE, no(door.NO_TOKEN)),
    "elsewhere as if it were here": ({"host": "127.0.0.1"}, ELSEWHERE, no(door.NO_TOKEN)),
    "another token": ({"authorization": "Bearer a-token"}, ELSEWHERE, no(door.WRONG_TOKEN)),
    "a longer one": ({"authorization": f"Bearer {TOKEN.decode()}a"}, ELSEWHERE, no(door.WRONG_TOKEN)),
    "an empty one": ({"authorization": "Bearer "}, ELSEWHERE, no(door.WRONG_TOKEN)),
    "another scheme": ({"authorization": f"Basic {TOKEN.decode()}"}, ELSEWHERE, no(door.WRONG_TOKEN)),
    "no scheme": ({"authorization": TOKEN.decode()}, ELSEWHERE, no(door.WRONG_TOKEN)),
    "a foreign page with the token": (
        {**BEARER, "origin": "https://evil.example"},
        ELSEWHERE,
        no(door.FOREIGN_PAGE),
    ),
}


@pytest.mark.parametrize(("headers", "client", "expected"), BEYOND.values(), ids=BEYOND.keys())
def test_beyond_loopback_the_token_is_needed(
    headers: Mapping[str, str], client: tuple[str, int], expected: tuple[int, Any]
) -> None:
    """What is on this machine is served as ever."""
    assert outcome(ask(headers, client, wanted=TOKEN)) == expected


def test_the_token_is_asked_for_as_http_wants_it() -> None:
    """A client learns the scheme, and whether its token was wrong."""
    without = ask({}, ELSEWHERE, wanted=TOKEN)
    wrong = ask({"authorization": "Bearer x"}, ELSEWHERE, wanted=TOKEN)

    assert without.headers["www-authenticate"] == "Bearer"
    assert wrong.headers["www-authenticate"] == 'Bearer error="invalid_token"'


def test_two_tokens_are_none() -> None:
    """Nobody gets to try two at once."""
    scope: Scope = {
        "type": "http",
        "path": "/health",
        "client": ELSEWHERE,
        "headers": [(b"host", b"192.0.2.1"), (b"authorization", b"Bearer " + TOKEN)] * 2,
    }

    assert door.refusal(scope, token.proof(TOKEN)) == door.WRONG_TOKEN


def test_a_connection_without_a_peer_is_not_served() -> None:
    """A server that does not say who is there is not believed."""
    scope: Scope = {"type": "http", "path": "/health", "headers": [(b"host", b"localhost")]}

    assert door.refusal(scope, token.proof(TOKEN)) == door.NOT_FROM_HERE


def test_a_connection_is_its_users() -> None:
    """Our own is our own, one that closed is a stranger's, one from elsewhere is remote."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        caller = socket.create_connection(listener.getsockname())
        served, peer = listener.accept()
        with served:
            here = served.getsockname()
            own = door.peer_of(peer, here)
            caller.close()

            assert own == "own"
            assert door.peer_of(peer, here) == "stranger"
            assert door.peer_of(ELSEWHERE, here) == "remote"
            assert door.peer_of(None, here) == "stranger"
            assert door.peer_of(peer, None) == "stranger"


USERS = {
    "root": (0, "own"),
    "ourselves": (os.geteuid(), "own"),
    "somebody else": (os.geteuid() + 1, "stranger"),
    "nobody": (None, "stranger"),
}


@pytest.mark.parametrize(("uid", "expected"), USERS.values(), ids=USERS.keys())
def test_the_same_user_and_root_are_our_own(
    monkeypatch: pytest.MonkeyPatch, uid: int | None, expected: str
) -> None:
    """Everybody else on this machine is a stranger."""
    # Other users' connections need root; test_door of the integration tests makes one.
    monkeypatch.setattr(peers, "uid_of", lambda *_: uid)

    assert door.peer_of(HERE, HERE) == expected


def test_a_kernel_that_does_not_tell_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SOCK_DIAG everybody is a stranger."""

    def refusing(*_: object) -> int | None:
        raise OSError

    monkeypatch.setattr(peers, "uid_of", refusing)

    assert door.peer_of(HERE, HERE) == "stranger"
