"""Readers of `GET /v1/events` over real sockets: polite ones, slow ones, too many, and a killed gateway."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.clients.events import ReceivedEvent, StreamBroken
from posthouse.clients.gateway import GatewayClient, GatewayRefused, GatewayUnavailable
from posthouse.contracts import gateway_files as gf
from posthouse.events import readers
from posthouse.gateway_lifecycle import attach
from posthouse.support import processes
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import Served, serving
from posthouse.testing.scripted_agents import House
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.web import event_stream as sse


def agent() -> FakeAgent:
    made = FakeAgent()
    made.appear()
    return made


def client(served: Served) -> GatewayClient:
    return GatewayClient("127.0.0.1", served.port, timeout_seconds=LIMIT_SECONDS)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kinds(events: list[ReceivedEvent]) -> list[str]:
    return [event.kind for event in events]


def test_events_are_heard_as_they_happen_and_the_end_is_the_gateways(tmp_path: Path) -> None:
    """A reader waits without asking, sees what happens, and is let go when the gateway stops."""
    heard: list[ReceivedEvent] = []

    def listen() -> None:
        with feed:
            heard.extend(feed)

    with serving(tmp_path, agent) as served:
        feed = client(served).events()
        listening = threading.Thread(target=listen)
        listening.start()
        client(served).submit_prompt("hello")
        until(lambda: kinds(heard)[-1:] == ["completed"])
    listening.join(LIMIT_SECONDS)

    assert not listening.is_alive()
    assert [kind for kind in kinds(heard) if kind != "request_stage"] == ["accepted", "completed"]
    assert "hello" not in json.dumps([event.fields for event in heard])


def test_a_reader_resumes_by_id_and_chooses_kinds(tmp_path: Path) -> None:
    """After an id come the later events, of the kinds that were asked for."""
    with serving(tmp_path, agent) as served:
        asked = client(served)
        asked.submit_prompt("one")
        until(lambda: "completed" in kinds(list(asked.events(since="start", follow=False))))
        first = next(iter(asked.events(since="start", follow=False)))
        rest = kinds(list(asked.events(since=first.event_id, follow=False)))
        completed = kinds(list(asked.events(since="start", kinds=["completed"], follow=False)))

        assert (first.kind, rest[-1], completed) == ("accepted", "completed", ["completed"])
        assert set(rest[:-1]) == {"request_stage"}
        with pytest.raises(GatewayRefused, match="invalid event id"):
            asked.events(since="yesterday")


def test_a_reader_that_does_not_read_is_cut_and_nobody_else_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is hung up on with most of it unsent; the gateway answers all the while."""
    monkeypatch.setattr(sse, "WRITE_TIMEOUT_SECONDS", 0.3)

    def crowded() -> FakeAgent:
        line = json.dumps({"kind": "accepted", "text": "x" * 1000})
        path = next(tmp_path.rglob("gateway")) / gf.EVENTS
        path.write_text(f"{line}\n" * 12_000)
        return agent()

    with serving(tmp_path, crowded) as served, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(LIMIT_SECONDS)
        deaf.connect(("127.0.0.1", served.port))
        deaf.sendall(b"GET /v1/events?since=start HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        until(lambda: _is_gone(deaf))
        received = _drained(deaf)
        monkeypatch.setattr(sse, "WRITE_TIMEOUT_SECONDS", LIMIT_SECONDS)  # for those who read, on any machine

        assert client(served).submit_prompt("still here")["request_kind"] == "submit_prompt"
        assert 0 < received < 12_000 * 1000
        assert len(list(client(served).events(since="start", kinds=["accepted"], follow=False))) >= 12_001


def _is_gone(peer: socket.socket) -> bool:
    """Whether the other side has hung up, seen without reading: the kernel no longer says ESTABLISHED."""
    return peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != b"\x01"


def _drained(peer: socket.socket) -> int:
    count = 0
    try:
        while part := peer.recv(1 << 20):
            count += len(part)
    except ConnectionResetError:
        return count
    return count


def test_there_is_room_for_so_many_readers_and_the_next_is_told_so(tmp_path: Path) -> None:
    """However many come, those who are in stay, and every other request is answered."""
    with serving(tmp_path, agent) as served:
        feeds = [client(served).events() for _ in range(readers.MAX_READERS)]
        for _ in range(200):
            with pytest.raises(GatewayUnavailable, match="readers follow"):
                client(served).events()
        client(served).submit_prompt("hello")
        heard = [next(iter(feed)).kind for feed in feeds]
        for feed in feeds:
            feed.close()
        until(lambda: _may_follow(served))

    assert heard == ["accepted"] * readers.MAX_READERS


def _may_follow(served: Served) -> bool:
    try:
        client(served).events().close()
    except GatewayUnavailable:
        return False
    return True


def test_the_head_alone_is_answered_at_once(tmp_path: Path) -> None:
    """HEAD has no events to wait for."""
    with (
        serving(tmp_path, agent) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=LIMIT_SECONDS) as peer,
    ):
        peer.sendall(b"HEAD /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = peer.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-type: text/event-stream" in answer


def test_a_killed_gateway_costs_its_readers_nothing(house: House) -> None:
    """With the last id, the next gateway tells everything that came after it, once."""
    session = house.launch(headless=True)
    house.attach(session)
    house.client(session).submit_prompt("one [[say first]]")
    house.settle(session)
    feed = house.client(session).events(since="start")
    heard = [next(iter(feed))]
    there = attach.live(session)
    assert there is not None
    os.kill(there.pid, signal.SIGKILL)
    processes.wait_exit(there.pid, seconds=LIMIT_SECONDS)
    with feed, contextlib.suppress(StreamBroken):  # the connection breaks
        heard.extend(feed)
    house.attach(session)
    house.client(session).submit_prompt("two [[say second]]")
    house.settle(session)
    assert feed.last_id is not None
    heard += house.client(session).events(since=feed.last_id, follow=False)

    everything = list(house.client(session).events(since="start", follow=False))
    assert heard == everything
    assert kinds(everything).count("completed") == 2
