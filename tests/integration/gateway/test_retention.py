"""A real gateway whose history has grown."""

import json
import sqlite3
from typing import Any

from posthouse.contracts import gateway_files as gf
from posthouse.events import journal
from posthouse.gateway_lifecycle import attach
from posthouse.queue import RetentionLimits
from posthouse.support import process_log
from posthouse.support.rotation import parts

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any

#: Of such lines a file is full to the last byte.
LINE = json.dumps({"kind": "completed", "request_id": "x"}).ljust(1023) + "\n"


def test_a_long_history_is_rotated_and_pruned_and_work_goes_on(house: House) -> None:
    """Full files become siblings, unchanged; rows beyond the limit go; new events are in the new file."""
    session = house.launch(headless=True)
    house.attach(session)
    attach.detach(session, house.registry)
    root = session.gateway_root
    events, log = root / gf.EVENTS, root / gf.LOG
    events.write_text(LINE * (journal.EVENT_RETENTION.max_bytes // len(LINE)))
    log.write_text(LINE * (process_log.LOG_RETENTION.max_bytes // len(LINE)))
    before = (events.read_bytes(), log.read_bytes())
    extra = 500
    with sqlite3.connect(root / gf.QUEUE) as connection:
        connection.executemany(
            "INSERT INTO gateway_requests VALUES"
            " (?, 'interrupt', '{}', 'completed', 't', 't', '2020-01-01T00:00:00+00:00', 1, NULL, NULL)",
            [(f"old-{number:06}",) for number in range(RetentionLimits().min_finished + extra)],
        )
    connection.close()

    house.attach(session)
    for _ in range(3):
        house.client(session).submit_prompt("hello [[say hello]]")
    house.settle(session)
    house.until(lambda: "history pruned" in log.read_text())
    house.until(lambda: len(house.rows(session)) <= RetentionLimits().min_finished + 3)

    assert [part.name for part in parts(events)] == ["events.jsonl.1", "events.jsonl"]
    assert (root / "events.jsonl.1").read_bytes().startswith(before[0])
    assert (root / "logs/gateway.log.1").read_bytes().startswith(before[1])
    kinds = [event["kind"] for event in house.events(session)]
    assert sorted(kinds) == ["accepted"] * 3 + ["completed"] * 3
    assert [state for _, state, _ in house.rows(session)][-3:] == ["completed"] * 3
