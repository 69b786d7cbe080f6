"""Receipts as people read them."""

import io
from typing import Any

from posthouse.cli.commands import requests
from posthouse.cli.output import Output

RECEIPT: dict[str, Any] = {
    "request_id": "gwreq-1",
    "kind": "submit_prompt",
    "state": "completed",
    "turn_id": "turn-1",
    "reminder_id": None,
    "prompt_preview": "say\nhello",
    "stages": [
        {"stage": "accepted", "at_utc": "2026-03-13T00:00:00.000000+00:00", "evidence": {}},
        {
            "stage": "submitted",
            "at_utc": "2026-03-13T00:00:00.250000+00:00",
            "evidence": {"source": "screen", "signs": ["acknowledged", "started"]},
        },
        {
            "stage": "completed",
            "at_utc": "2026-03-13T00:00:03.750000+00:00",
            "evidence": {"source": "turn", "turn_id": "turn-1", "returncode": 0},
        },
    ],
    "error": None,
    "result": {
        "answer": "hello",
        "answer_is_cut": False,
        "usage": {"input_tokens": 3, "output_tokens": 1, "cache": {}},
        "cost_usd": 0.0125,
    },
}


def test_a_receipt_is_drawn_as_a_timeline() -> None:
    """Each stage with its time, what passed since the one before, and how it is known."""
    drawn = requests.format_receipt(RECEIPT, Output("plain", stream=io.StringIO()))

    lines = drawn.splitlines()
    assert lines[:5] == [
        "request  gwreq-1",
        "kind     submit_prompt",
        "state    completed",
        "turn     turn-1",
        "prompt   say hello",
    ]
    # The time of day is the reader's own.
    assert [line[2:5] + line[17:] for line in lines[6:9]] == [
        "●               accepted",
        "●      +250 ms  submitted     screen, signs acknowledged, started",
        "●       +3.5 s  completed     turn, returncode 0",
    ]
    assert lines[9:] == ["", "usage: input_tokens 3, output_tokens 1", "cost: $0.0125", "", "hello"]


def test_what_failed_shows_its_reason() -> None:
    """Without a result there is none to show."""
    failed = {**RECEIPT, "state": "failed", "result": None, "error": "the turn ended badly"}

    assert requests.format_receipt(failed, Output("plain", stream=io.StringIO())).splitlines()[-1] == (
        "error: the turn ended badly"
    )
