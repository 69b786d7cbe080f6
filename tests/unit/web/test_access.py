"""Who is let in."""

import asyncio
import os
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from posthouse.support import ownership, peers
from posthouse.testing.gateway import Answer, call
from posthouse.web import access, scopes, token
from posthouse.web.access import AccessControl

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
    made = AccessControl(inside, None if wanted is None else token.authenticator(wanted))
    return asyncio.run(call(made, "GET", "/health", headers=headers, client=client))


def outcome(answer: Answer) -> tuple[int, Any]:
    return answer.status, answer.body


LET_IN = (200, {"let": "in"})


def no(refusal: access.RefusalResponse) -> tuple[int, Any]:
    return refusal.status, {"detail": refusal.detail}


LOOPBACK = {
    "a program on this machine": ({}, HERE, LET_IN),
    "from another loopback address": ({}, ("127.0.0.5", 1), LET_IN),
    "by name": ({"host": "localhost:43123"}, HERE, LET_IN),
    "by name without port": ({"host": "LOCALHOST"}, HERE, LET_IN),
    "its own page": ({"origin": "http://127.0.0.1:43123"}, HERE, LET_IN),
    "another machine": ({}, ELSEWHERE, no(access.NOT_LOCAL)),
    "another machine with some token": (BEARER, ELSEWHERE, no(access.NOT_LOCAL)),
    "a name that was pointed here": ({"host": "evil.example:43123"}, HERE, no(access.FOREIGN_HOST)),
    "a name that only starts right": ({"host": "127.0.0.1.evil.example"}, HERE, no(access.FOREIGN_HOST)),
    "a name that only ends right": ({"host": "evil.localhost"}, HERE, no(access.FOREIGN_HOST)),
    "every address": ({"host": "0.0.0.0:43123"}, HERE, no(access.FOREIGN_HOST)),
    "no host": ({"host": ""}, HERE, no(access.FOREIGN_HOST)),
    "a foreign page": ({"origin": "https://evil.example"}, HERE, no(access.FOREIGN_PAGE)),
    "a page of another local port": ({"origin": "http://127.0.0.1:3000"}, HERE, no(access.FOREIGN_PAGE)),
    "a page without origin": ({"origin": "null"}, HERE, no(access.FOREIGN_PAGE)),
    "a frame of a foreign page": (
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        HERE,
        no(access.FOREIGN_PAGE),
    ),
    "an image of a foreign page": ({"sec-fetch-site": "cross-site"}, HERE, no(access.FOREIGN_PAGE)),
    "an image of another local port": (
        {"sec-fetch-site": "same-site"},
        HERE,
        no(access.FOREIGN_PAGE),
    ),
    "a link on a foreign page": (
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
        HERE,
        no(access.FOREIGN_PAGE),
    ),
    "its own page, as browsers mark it": ({"sec-fetch-site": "same-origin"}, HERE, LET_IN),
    "an address that a person typed": ({"sec-fetch-site": "none"}, HERE, LET_IN),
}


@pytest.mark.parametrize(("headers", "client", "expected"), LOOPBACK.values(), ids=LOOPBACK.keys())
def test_on_loopback_only_programs_on_this_machine_are_let_in(
    headers: Mapping[str, str], client: tuple[str, int], expected: tuple[int, Any]
) -> None:
    """A page in a browser, by whatever trick, is not served, and no token is asked for."""
    assert outcome(ask(headers, client)) == expected


DOCS = {
    "a link": ("GET", "navigate", "document", 200),
    "a frame": ("GET", "navigate", "iframe", 403),
    "a script": ("GET", "no-cors", "script", 403),
    "a form": ("POST", "navigate", "document", 403),
}


@pytest.mark.parametrize(("method", "mode", "dest", "status"), DOCS.values(), ids=DOCS.keys())
def test_of_another_site_only_a_link_leads_to_the_page_for_people(
    method: str, mode: str, dest: str, status: int
) -> None:
    """A person may follow a link to `/docs`; nothing else of a foreign page reaches it."""
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}

    assert asyncio.run(call(AccessControl(inside), method, "/docs", headers=headers)).status == status


def test_who_is_being_answered_is_dropped_when_the_token_goes() -> None:
    """Only the callers whose token changed are."""
    dropped: list[str] = []
    tokens: dict[bytes, scopes.Scope] = {b"Bearer a": "read", b"Bearer b": "read", b"Bearer c": "admin"}

    async def scenario() -> None:
        is_over = asyncio.Event()

        async def streaming(*_: object) -> None:
            await is_over.wait()

        made = AccessControl(streaming, tokens.get)
        answers = [asyncio.create_task(made(_far(name, dropped), _silent, _silent)) for name in "abc"]
        await asyncio.sleep(0)
        made.recheck()
        assert dropped == []
        del tokens[b"Bearer a"]
        tokens[b"Bearer c"] = "read"
        made.recheck()
        is_over.set()
        await asyncio.gather(*answers)
        dropped.append("end")
        made.recheck()

    asyncio.run(scenario())

    assert dropped == ["a", "c", "end"]


def _far(name: str, dropped: list[str]) -> Scope:
    return {
        "type": "http",
        "method": "GET",
        "path": "/houmao/events",
        "client": ELSEWHERE,
        "headers": [(b"host", b"192.0.2.1"), (b"authorization", f"Bearer {name}".encode())],
        "extensions": {access.HANG_UP: {"call": lambda: dropped.append(name)}},
    }


async def _silent(*_: object) -> Any:
    raise AssertionError("nothing is said")


BEYOND = {
    "a program on this machine": ({}, HERE, LET_IN),
    "the same with a token it does not need": ({"authorization": "Bearer x"}, HERE, LET_IN),
    "a page by a name that was pointed here": (
        {"host": "evil.example", "authorization": BEARER["authorization"]},
        HERE,
        no(access.FOREIGN_HOST),
    ),
    "elsewhere with the token": (BEARER, ELSEWHERE, LET_IN),
    "elsewhere by any name": ({**BEARER, "host": "agents.example"}, ELSEWHERE, LET_IN),
    "the scheme in capitals": (
        {**BEARER, "authorization": f"BEARER {TOKEN.decode()}"},
        ELSEWHERE,
        LET_IN,
    ),
    "elsewhere without": ({"host": "192.0.2.1"}, ELSEWHERE, no(access.NO_TOKEN)),
    "elsewhere as if it were here": ({"host": "127.0.0.1"}, ELSEWHERE, no(access.NO_TOKEN)),
    "another token": ({"authorization": "Bearer a-token"}, ELSEWHERE, no(access.WRONG_TOKEN)),
    "a longer one": ({"authorization": f"Bearer {TOKEN.decode()}a"}, ELSEWHERE, no(access.WRONG_TOKEN)),
    "an empty one": ({"authorization": "Bearer "}, ELSEWHERE, no(access.WRONG_TOKEN)),
    "another scheme": ({"authorization": f"Basic {TOKEN.decode()}"}, ELSEWHERE, no(access.WRONG_TOKEN)),
    "no scheme": ({"authorization": TOKEN.decode()}, ELSEWHERE, no(access.WRONG_TOKEN)),
    "a foreign page with the token": (
        {**BEARER, "origin": "https://evil.example"},
        ELSEWHERE,
        no(access.FOREIGN_PAGE),
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

    assert access.check_request(scope, token.authenticator(TOKEN)) == access.WRONG_TOKEN


def test_a_connection_without_a_peer_is_not_served() -> None:
    """A server that does not say who is there is not believed."""
    scope: Scope = {"type": "http", "path": "/health", "headers": [(b"host", b"localhost")]}

    assert access.check_request(scope, token.authenticator(TOKEN)) == access.NOT_LOCAL


def test_a_connection_is_its_users() -> None:
    """Our own is our own, one that closed is a stranger's, one from elsewhere is remote."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        caller = socket.create_connection(listener.getsockname())
        served, peer = listener.accept()
        with served:
            here = served.getsockname()
            own = access.peer_of(peer, here)
            caller.close()

            assert own == "own"
            assert access.peer_of(peer, here) == "other_user"
            assert access.peer_of(ELSEWHERE, here) == "remote"
            assert access.peer_of(None, here) == "other_user"
            assert access.peer_of(peer, None) == "other_user"


USERS = {
    "root": (0, "own"),
    "ourselves": (os.geteuid(), "own"),
    "somebody else": (os.geteuid() + 1, "other_user"),
    "nobody": (None, "other_user"),
}


@pytest.mark.parametrize(("uid", "expected"), USERS.values(), ids=USERS.keys())
def test_the_same_user_and_root_are_our_own(
    monkeypatch: pytest.MonkeyPatch, uid: int | None, expected: str
) -> None:
    """Everybody else on this machine is a stranger."""
    # Other users' connections need root; test_door of the integration tests makes one.
    monkeypatch.setattr(peers, "uid_of", lambda *_: uid)

    assert access.peer_of(HERE, HERE) == expected


def test_a_kernel_that_does_not_tell_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SOCK_DIAG everybody is a stranger."""

    def refusing(*_: object) -> int | None:
        raise OSError

    monkeypatch.setattr(peers, "uid_of", refusing)

    assert access.peer_of(HERE, HERE) == "other_user"


def test_the_uid_that_stands_for_many_users_is_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user namespace every user without a number has this process's own number."""
    # As in `unshare --user`, where the kernel can't tell whose connection it is.
    monkeypatch.setattr(peers, "uid_of", lambda *_: 65534)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)

    found = []
    for anonymous in (None, 65534):
        monkeypatch.setattr(ownership, "_anonymous_uid", lambda uid=anonymous: uid)
        found.append(access.peer_of(HERE, HERE))
    assert found == ["own", "other_user"]
