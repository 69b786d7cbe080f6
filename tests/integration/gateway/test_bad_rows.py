"""Rows that nobody can carry out, written by another program into the queue of a real gateway process."""

import sqlite3
from typing import Any

import pytest

from posthouse.cli import health_problems
from posthouse.cli.wiring import Wiring
from posthouse.clients import readiness
from posthouse.contracts import gateway_files as gf
from posthouse.gateway_lifecycle import attach
from posthouse.sessions.session import Session

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any

INSERT = (
    "INSERT INTO gateway_requests"
    " (request_id, request_kind, payload_json, state, accepted_at_utc, managed_agent_instance_epoch)"
    " VALUES (?, ?, ?, 'accepted', '2026-01-01T00:00:00Z', 1)"
)
#: By their ids: the kind, the payload, and the beginning of the reason that they fail with.
BAD: dict[str, tuple[Any, Any, str]] = {
    "unknown-kind": ("dance", "{}", "unsupported request kind 'dance'"),
    "kind-not-text": (b"\xff\xfe", "{}", "unsupported request kind"),
    "torn": ("submit_prompt", '{"prompt": "x', "payload_json can't be parsed"),
    "no-prompt": ("submit_prompt", "{}", "payload_json is not a prompt's"),
    "deep": ("submit_prompt", "[" * 50_000, "payload_json can't be parsed"),
    "not-text": ("submit_prompt", b"\xff\xfe", "payload_json can't be parsed"),
    "bad-number": ("submit_prompt", 7, "payload_json is not an object"),
}


#: A running gateway takes rows in the order of this table. Rows that are not in it are added at its start.
ORDER = "INSERT INTO posthouse_requests (request_id, is_open) SELECT request_id, 1 FROM gateway_requests"
NOT_UTF8 = INSERT.replace("?, ?, ?", "?, ?, CAST(x'ff22' AS TEXT)")


def write(session: Session, *, is_running: bool) -> None:
    """Put all of them into the queue, and one that is not UTF-8."""
    with sqlite3.connect(session.gateway_root / gf.QUEUE, timeout=60) as connection:
        for request_id, (kind, payload, _) in BAD.items():
            connection.execute(INSERT, (request_id, kind, payload))
        connection.execute(NOT_UTF8, ("not-utf8", "submit_prompt"))
        if is_running:
            connection.execute(f"{ORDER} WHERE state = 'accepted'")
    connection.close()


def ends(session: Session) -> dict[str, tuple[str, str | None]]:
    """State and reason of every row."""
    with sqlite3.connect(session.gateway_root / gf.QUEUE) as connection:
        found = connection.execute("SELECT request_id, state, error_detail FROM gateway_requests").fetchall()
    connection.close()
    return {request_id: (state, error) for request_id, state, error in found}


@pytest.mark.parametrize("is_running", [True, False], ids=["while it runs", "before it starts"])
def test_bad_rows_fail_with_their_reasons_and_a_good_request_is_carried_out(
    house: House, *, is_running: bool
) -> None:
    """The worker lives on: the gateway stays ready, and no background task of it died."""
    session = house.launch(headless=True)
    house.attach(session)
    house.client(session).submit_prompt("first")
    house.settle(session)
    if is_running:
        write(session, is_running=True)
    else:
        attach.detach(session, house.registry)
        write(session, is_running=False)
        house.attach(session)

    accepted = house.client(session).submit_prompt("after")
    house.until(lambda: ends(session)[accepted["request_id"]][0] == "completed")
    house.until(lambda: all(ends(session)[request_id][0] == "failed" for request_id in (*BAD, "not-utf8")))

    found = ends(session)
    assert {one: (found[one][1] or "").startswith(BAD[one][2]) for one in BAD} == dict.fromkeys(BAD, True)
    assert house.truth(session).prompts() == ["first", "after"]
    there = attach.live(session)
    assert there is not None
    ready = readiness.fetch(there.host, there.port)
    assert (ready["ready"], ready["queue_depth"], ready["background_failures"]) == (True, 0, [])
    assert health_problems.collect(Wiring(house.agents.roots.variables(), house.folder)) == []
