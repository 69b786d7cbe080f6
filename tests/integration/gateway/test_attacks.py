"""What a hostile peer may send: it gets a documented answer or is hung up on, and nobody else notices."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayClient
from posthouse.contracts import gateway_files as gf
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import Served, serving
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.web import body, connection, lingering_close

HEALTHY = {"protocol_version": "v1", "status": "ok"}
INTERRUPT = b'{"kind":"interrupt","payload":{}}'


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One gateway for all attacks."""
    with serving(tmp_path_factory.mktemp("attacked"), _agent) as served:
        yield served


@pytest.fixture
def gateway(house: Served) -> Iterator[Served]:
    """A gateway that must be healthy, and must have failed at nothing, when the attack is over."""
    yield house
    assert GatewayClient("127.0.0.1", house.port).health() == HEALTHY
    assert "Traceback" not in (house.root / gf.LOG).read_text()


def _agent() -> FakeAgent:
    agent = FakeAgent()
    agent.appear()
    return agent


@dataclass(frozen=True, slots=True)
class Told:
    """One answer as it stood on the wire."""

    status: int
    detail: Any
    is_last: bool


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=LIMIT_SECONDS)


def hear(peer: socket.socket) -> bytes:
    """All that comes until the gateway hangs up."""
    parts: list[bytes] = []
    while part := peer.recv(65536):
        parts.append(part)
    return b"".join(parts)


def told(heard: bytes) -> list[Told]:
    """The answers in *heard*, each with its `detail`, or its whole body without one."""
    answers: list[Told] = []
    while heard:
        head, _, rest = heard.partition(b"\r\n\r\n")
        status_line, *fields = head.decode().split("\r\n")
        headers = dict(field.lower().split(": ", 1) for field in fields)
        size = int(headers.get("content-length", 0))
        content, heard = json.loads(rest[:size] or b"null"), rest[size:]
        detail = content.get("detail", content) if isinstance(content, dict) else content
        answers.append(Told(int(status_line.split()[1]), detail, headers.get("connection") == "close"))
    return answers


def send(served: Served, attack: bytes) -> list[Told]:
    """What a peer hears that sends *attack* and waits until the gateway hangs up."""
    with connect(served) as peer:
        peer.sendall(attack)
        return told(hear(peer))


def get(*fields: bytes, target: bytes = b"/health", version: bytes = b"HTTP/1.1") -> bytes:
    lines = [b" ".join((b"GET", target, version)), b"Host: 127.0.0.1", *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def post(*fields: bytes, content: bytes = b"") -> bytes:
    lines = [b"POST /v1/requests HTTP/1.1", b"Host: 127.0.0.1", b"Content-Type: application/json", *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


def sized(content: bytes, *fields: bytes) -> bytes:
    return post(b"Connection: close", b"Content-Length: %d" % len(content), *fields, content=content)


CHUNKED = b"Transfer-Encoding: chunked"

MALFORMED = {
    "both lengths": (post(b"Content-Length: 4", CHUNKED, content=b"0\r\n\r\n"), 400),
    "both lengths, the other way": (post(CHUNKED, b"Content-Length: 4", content=b"0\r\n\r\n"), 400),
    "two lengths": (post(b"Content-Length: 4", b"Content-Length: 5", content=b"abcde"), 400),
    "the same length twice": (post(b"Content-Length: 4", b"Content-Length: 4", content=b"abcd"), 400),
    "a list of lengths": (post(b"Content-Length: 4, 4", content=b"abcd"), 400),
    "a signed length": (post(b"Content-Length: +4", content=b"abcd"), 400),
    "a negative length": (post(b"Content-Length: -4", content=b"abcd"), 400),
    "a length in hex": (post(b"Content-Length: 0x4", content=b"abcd"), 400),
    "no length after its name": (post(b"Content-Length:", content=b"abcd"), 400),
    "a length beyond all numbers": (post(b"Content-Length: " + b"9" * 40), 400),
    "space before the colon": (post(b"Content-Length : 4", content=b"abcd"), 400),
    "a coding that is not chunked": (post(b"Transfer-Encoding: xchunked", content=b"0\r\n\r\n"), 501),
    "a coding before chunked": (post(b"Transfer-Encoding: gzip, chunked", content=b"0\r\n\r\n"), 501),
    "a coding after chunked": (post(b"Transfer-Encoding: chunked, gzip", content=b"0\r\n\r\n"), 400),
    "chunked twice": (post(CHUNKED, CHUNKED, content=b"0\r\n\r\n"), 400),
    "chunked by a folded line": (post(b"Transfer-Encoding:\r\n chunked", content=b"0\r\n\r\n"), 400),
    "a chunk without size": (post(CHUNKED, content=b"zz\r\nab\r\n0\r\n\r\n"), 400),
    "a chunk of endless size": (post(CHUNKED, content=b"f" * 40 + b"\r\nab\r\n"), 400),
    "a chunk longer than it says": (post(CHUNKED, content=b"2\r\nabXX0\r\n\r\n"), 400),
    "chunks with bare line feeds": (post(CHUNKED, content=b"2\nab\n0\n\n"), 400),
    "a folded header": (get(b"X-A: a\r\n b"), 400),
    "bare line feeds": (b"GET /health HTTP/1.1\nHost: 127.0.0.1\n\n", 400),
    "a bare carriage return": (get(b"X-A: a\rContent-Length: 4"), 400),
    "a null byte in a header": (get(b"X-A: a\x00b"), 400),
    "a null byte in the path": (get(target=b"/health\x00"), 400),
    "bytes that are no ASCII in the path": (get(target=b"/\xff\xfe"), 400),
    "a header without a name": (get(b": a"), 400),
    "two Hosts": (get(b"Host: 127.0.0.1"), 400),
    "a whole URL of another host": (get(target=b"http://evil.example/health"), 400),
    "a path without its slash": (get(target=b"health"), 400),
    "a tunnel": (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /health\r\n\r\n", 505),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a version that is none": (get(version=b"HTTP/2.0"), 505),
    "a method that is none": (b"HACK /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(154), 400),
    "an upgrade with a body": (
        post(b"Connection: Upgrade", b"Upgrade: websocket", b"Content-Length: 3", content=b"abc"),
        400,
    ),
    "a long target": (get(target=b"/" + b"a" * 9000), 414),
    "many headers": (get(*(b"X-%d: y" % number for number in range(101))), 431),
    "large headers": (get(*(b"X-%d: %s" % (number, b"y" * 1000) for number in range(40))), 431),
}


@pytest.mark.parametrize(("attack", "status"), MALFORMED.values(), ids=MALFORMED.keys())
def test_what_could_be_read_in_two_ways_is_refused(gateway: Served, attack: bytes, status: int) -> None:
    """One answer, in the shape of all refusals, and nothing that follows is taken for a request."""
    answers = send(gateway, attack + get())

    assert [(answer.status, answer.is_last) for answer in answers] == [(status, True)]
    assert isinstance(answers[0].detail, str)


HEADERS = {
    "a foreign host": (b"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
    "no host": (b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 403),
    "HTTP/1.0 without host": (b"GET /health HTTP/1.0\r\n\r\n", 403),
    "a foreign origin": (get(b"Origin: https://evil.example", b"Connection: close"), 403),
    "a foreign origin behind our own": (
        get(b"Origin: http://127.0.0.1", b"Origin: https://evil.example", b"Connection: close"),
        403,
    ),
    "a host by an address of this machine": (
        b"GET /health HTTP/1.1\r\nHost: 192.0.2.2\r\nConnection: close\r\n\r\n",
        403,
    ),
    "who claims to come from elsewhere": (
        get(b"X-Forwarded-For: 192.0.2.7", b"Forwarded: for=192.0.2.7", b"Connection: close"),
        200,
    ),
    "a null byte, escaped": (get(b"Connection: close", target=b"/health%00"), 404),
    "a path that climbs": (get(b"Connection: close", target=b"/v1/../health"), 404),
    "an escaped slash": (get(b"Connection: close", target=b"/v1%2Fstatus%2F.."), 404),
    "two slashes": (get(b"Connection: close", target=b"//evil.example/health"), 404),
    "bytes that are no text, escaped": (get(b"Connection: close", target=b"/%ff%fe"), 404),
    "an upgrade": (get(b"Connection: Upgrade", b"Upgrade: h2c"), 200),
    "another protocol": (b"PLAY /health RTSP/1.0\r\nHost: 127.0.0.1\r\n\r\n", 405),
}


@pytest.mark.parametrize(("attack", "status"), HEADERS.values(), ids=HEADERS.keys())
def test_what_is_readable_is_answered(gateway: Served, attack: bytes, status: int) -> None:
    """Neither a trick of names nor a strange path gets more than its answer."""
    assert [answer.status for answer in send(gateway, attack)] == [status]


BODIES = {
    "no UTF-8": b'{"kind":"\xff\xfe"}',
    "half a surrogate": b'{"kind":"submit_prompt","payload":{"prompt":"\\ud800"}}',
    "UTF-16": INTERRUPT.decode().encode("utf-16"),
    "deep lists": b"[" * 500_000,
    "deep objects": b'{"a":' * 150_000,
    "as deep as the parser goes": b'{"kind":"interrupt","payload":' + b"[" * 190 + b"]" * 190 + b"}",
    "no number": b'{"kind":"interrupt","schema_version":NaN,"payload":{}}',
    "infinite": b'{"kind":"interrupt","schema_version":Infinity,"payload":{}}',
    "too large a number": b'{"kind":"interrupt","schema_version":1e999,"payload":{}}',
    "a number of many digits": b'{"kind":"interrupt","schema_version":1' + b"0" * 9000 + b',"payload":{}}',
    "the same, broken off": b'{"kind":"interrupt","schema_version":1' + b"0" * 9000,
    "a kind of many digits": b'{"kind":1' + b"0" * 9000 + b',"payload":{}}',
    "a number of many digits where one is wanted": (
        b'{"kind":"submit_prompt","payload":{"prompt":"a","execution":{"model":{"reasoning":{"level":1'
        + b"0" * 9000
        + b"}}}}}"
    ),
    "a kind as large as a body may be": b'{"kind":"' + b"a" * 1_000_000 + b'"}',
    "a name as large as a body may be": b'{"kind":"interrupt","payload":{"' + b"a" * 1_000_000 + b'":1}}',
    "another type": b'"interrupt"',
    "null": b"null",
}


@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES.keys())
def test_a_hostile_body_gets_422(gateway: Served, content: bytes) -> None:
    """Whatever stands in it, and the answer is brief."""
    with connect(gateway) as peer:
        peer.sendall(sized(content))
        heard = hear(peer)

    assert [answer.status for answer in told(heard)] == [422]
    assert len(heard) < 100_000


def test_a_trailer_is_no_header(gateway: Served) -> None:
    """What stands behind a body can't change what was checked before it."""
    content = b"%x\r\n%s\r\n0\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n" % (
        len(INTERRUPT),
        INTERRUPT,
    )

    assert [
        answer.status for answer in send(gateway, post(b"Connection: close", CHUNKED, content=content))
    ] == [202]


def test_requests_in_a_row_are_answered_in_order(gateway: Served) -> None:
    """Pipelining works, and ends where somebody says so."""
    attack = get() + sized(INTERRUPT).replace(b"Connection: close\r\n", b"") + get(b"Connection: close")

    answers = send(gateway, attack + get())

    assert [answer.status for answer in answers] == [200, 202, 200]


def test_what_was_accepted_is_said_before_the_connection_ends(gateway: Served) -> None:
    """A request is told its own outcome, not that of the unreadable one behind it."""
    accepted = post(b"Content-Length: %d" % len(INTERRUPT), content=INTERRUPT)
    broken = post(CHUNKED, content=b"zz\r\n")

    answers = [
        [answer.status for answer in send(gateway, accepted + rest)] for rest in (b"HACK\r\n\r\n", broken)
    ]

    assert answers == [[202], [202, 400]]


def send_all_there_is(served: Served, attack: bytes) -> list[Told]:
    """What a peer hears that sends *attack* and stops sending, once it was let in."""
    with connect(served) as peer:
        peer.sendall(get())
        greeting = peer.recv(65536)  # who stops before it was let in is nobody to the kernel
        peer.sendall(attack)
        peer.shutdown(socket.SHUT_WR)
        return told(greeting + hear(peer))


def test_who_has_said_all_hears_the_answers(gateway: Served) -> None:
    """A peer may stop sending, and is answered to the end."""
    accepted = post(b"Content-Length: %d" % len(INTERRUPT), content=INTERRUPT)

    answers = send_all_there_is(gateway, get() + accepted)

    assert [answer.status for answer in answers] == [200, 200, 202]


BROKEN_OFF = {
    "in the head": b"GET /health HTTP/1.1\r\nHost: 127",
    "in the body": post(b"Content-Length: 100", content=INTERRUPT),
    "in a chunk": post(CHUNKED, content=b"21\r\n{"),
    "before the last chunk": post(CHUNKED, content=b"21\r\n%s\r\n" % INTERRUPT),
}


@pytest.mark.parametrize("attack", BROKEN_OFF.values(), ids=BROKEN_OFF.keys())
def test_half_a_request_is_none(gateway: Served, attack: bytes) -> None:
    """Nothing is accepted that may have been longer."""
    assert [answer.status for answer in send_all_there_is(gateway, attack)] == [200]


def test_a_body_that_is_too_large_is_refused_before_it_came(gateway: Served) -> None:
    """The peer hears why, whether it says the size first or just goes on."""
    declared = post(b"Content-Length: %d" % (1 << 40))
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    endless = post(CHUNKED, content=chunk * (body.MAX_BYTES // 0x10000 + 1))

    answers = [send(gateway, attack) for attack in (declared, endless)]

    refusal = Told(413, f"The body is larger than {body.MAX_BYTES} bytes", True)
    assert answers == [[refusal], [refusal]]


def test_a_peer_that_listens_only_when_it_has_sent_all_hears_its_answer(gateway: Served) -> None:
    """Hanging up on it does not take the answer away."""
    answers = send(gateway, sized(b" " * (8 << 20)))

    assert [answer.status for answer in answers] == [413]


def _send_all(peer: socket.socket, content: bytes) -> None:
    try:
        peer.sendall(content)
    except OSError:
        return  # it was hung up on, as it should be


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of time that a test can wait for."""
    monkeypatch.setattr(connection, "_HEAD_SECONDS", 0.3)
    monkeypatch.setattr(connection, "_STALL_SECONDS", 0.3)
    monkeypatch.setattr(body, "_MAX_SECONDS", 0.3)
    monkeypatch.setattr(lingering_close, "_LINGER_SECONDS", 0.3)


SLOW = {
    "half a first line": (b"GET /hea", 408),
    "half a head": (b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", 408),
    "HTTP/0.9": (b"GET /health\r\n", 408),
    "half a body": (post(b"Content-Length: 10", content=b"{"), 408),
    "no body": (post(b"Content-Length: 10"), 408),
    "half a chunk": (post(CHUNKED, content=b"a\r\n{"), 408),
    "half a trailer": (post(CHUNKED, content=b"2\r\n{}\r\n0\r\nX-A: "), 408),
    "no answer to 100 Continue": (post(b"Expect: 100-continue", b"Content-Length: 10"), 408),
}


@pytest.mark.parametrize(("attack", "status"), SLOW.values(), ids=SLOW.keys())
@pytest.mark.usefixtures("hurried")
def test_who_stops_in_the_middle_is_hung_up_on(gateway: Served, attack: bytes, status: int) -> None:
    """It is told that it was too slow."""
    answers = [answer for answer in send(gateway, attack) if answer.status != 100]

    assert [(answer.status, answer.is_last) for answer in answers] == [(status, True)]


DRIPS = {
    "a head": (get()[:-2], b"X-A: a\r\n", 408),
    "empty lines": (b"", b"\r\n", 408),
    "a body": (post(b"Content-Length: 100000"), b" ", 408),
    "chunks": (post(CHUNKED), b"1\r\n \r\n", 408),
    "a trailer": (post(CHUNKED, content=b"2\r\n{}\r\n0\r\n"), b"X-A: a\r\n", 408),
    "a body that nobody asked for": (get(b"Content-Length: 100000"), b" ", 200),
    "a body behind a foreign host": (
        b"POST /v1/requests HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\n",
        b" ",
        403,
    ),
}


@pytest.mark.parametrize(("start", "drop", "status"), DRIPS.values(), ids=DRIPS.keys())
@pytest.mark.usefixtures("hurried")
def test_who_drips_is_hung_up_on(gateway: Served, start: bytes, drop: bytes, status: int) -> None:
    """A little now and then does not keep a connection open."""
    with connect(gateway) as peer:
        peer.sendall(start)
        is_over = threading.Event()
        dripping = threading.Thread(target=_drip, args=(peer, drop, is_over))
        dripping.start()
        answers = told(hear(peer))
        is_over.set()
        dripping.join()

    assert [answer.status for answer in answers] == [status]


def _drip(peer: socket.socket, drop: bytes, is_over: threading.Event) -> None:
    while not is_over.wait(0.02):
        try:
            peer.sendall(drop)
        except OSError:
            return  # it was hung up on, as it should be


@pytest.mark.usefixtures("hurried")
def test_who_says_nothing_is_hung_up_on(gateway: Served) -> None:
    """Without a word."""
    assert send(gateway, b"") == []


FLOODS = {
    "a header without end": (get()[:-2] + b"X-A: ", b"a", 431),
    "empty lines without end": (b"", b"\r\n", 431),
    "a trailer without end": (post(CHUNKED, content=b"2\r\n{}\r\n0\r\nX-A: "), b"a", 431),
    "a target without end": (b"GET /", b"a", 414),
}


@pytest.mark.parametrize(("start", "more", "status"), FLOODS.values(), ids=FLOODS.keys())
def test_who_floods_is_hung_up_on(gateway: Served, start: bytes, more: bytes, status: int) -> None:
    """What the parser would keep or skip is bounded."""
    with connect(gateway) as peer:
        flooding = threading.Thread(target=_send_all, args=(peer, start + more * (4 << 20)))
        flooding.start()
        answers = told(hear(peer))
    flooding.join()

    assert [answer.status for answer in answers] == [status]


def test_requests_that_wait_in_a_row_are_bounded(gateway: Served) -> None:
    """Who sends on and on without reading is answered as far as that goes, and hung up on."""
    with connect(gateway) as peer:
        flooding = threading.Thread(target=_send_all, args=(peer, get() * 50_000))
        flooding.start()
        flooding.join()
        answers = told(hear(peer))

    assert {answer.status for answer in answers} == {200}
    assert 64 < len(answers) < 50_000


def test_the_house_is_not_filled_by_connections_that_wait(
    gateway: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes when it is full is told so, and is served when there is room again."""
    monkeypatch.setattr(connection, "_MAX_CONNECTIONS", 3)
    waiting = [connect(gateway) for _ in range(3)]
    crowded = send(gateway, get(b"Connection: close"))
    for peer in waiting:
        peer.close()

    assert crowded == [Told(503, "Too many connections; close some", True)]
    _until(lambda: [answer.status for answer in send(gateway, get(b"Connection: close"))] == [200])


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
    raise AssertionError("it did not come about")
