"""Which control intents are left of a run."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from posthouse.queue import Claim, Coalesced, Counts, ExecutionResult, QueuedRequest, Request, open_queue
from posthouse.queue.coalescing import CoalescingPlan, action_of, plan


def row(sequence: int, words: str, *, epoch: int = 1) -> QueuedRequest:
    """`interrupt`, `mail …` for a notifier's prompt, or a prompt."""
    kind = (
        words
        if words == "interrupt"
        else "mail_notifier_prompt"
        if words.startswith("mail ")
        else "submit_prompt"
    )
    return QueuedRequest(
        sequence=sequence,
        request_id=f"r{sequence}",
        kind=kind,
        payload={} if kind == "interrupt" else {"prompt": words.removeprefix("mail ")},
        state="accepted",
        epoch=epoch,
        carrier=epoch,
    )


def told(planned: CoalescingPlan | None) -> tuple[list[int], list[tuple[int, int]]]:
    """What is carried out, in order; and what is superseded by what."""
    assert planned is not None
    return (
        [one.sequence for one in planned.effective],
        [(one.row.sequence, one.by.sequence) for one in planned.superseded],
    )


CASES: dict[str, tuple[list[str], list[int], list[tuple[int, int]]]] = {
    "an ordinary prompt is itself": (["hello", "/clear", "/clear"], [0], []),
    "one intent is itself": (["/clear", "hello", "/clear"], [0], []),
    "the first interrupt stays": (["interrupt", "interrupt", "interrupt"], [0], [(1, 0), (2, 0)]),
    "of equal context actions the last stays": (["/clear", "/clear", "/clear"], [2], [(0, 2), (1, 2)]),
    "new beats clear beats compact": (["/compact", "/new", "/clear"], [1], [(0, 1), (2, 1)]),
    "clear beats compact": (["/clear", "/compact"], [0], [(1, 0)]),
    "the interrupt goes first, wherever it stood": (["/clear", "interrupt"], [1, 0], []),
    "both kinds at once": (
        ["/compact", "interrupt", "/clear", "interrupt", "/clear"],
        [1, 4],
        [(0, 4), (2, 4), (3, 1)],
    ),
    "an ordinary prompt ends the run": (["/clear", "hello", "/new"], [0], []),
    "a prompt that only mentions a command ends it": (["/clear", "/new now", "/new"], [0], []),
    "so does one of several lines": (["/clear", "/new\nplease", "/new"], [0], []),
    "so does a notifier's prompt": (["/clear", "mail /new", "/new"], [0], []),
    "blanks around a command do not matter": ([" /clear\n", "\t/new "], [1], [(0, 1)]),
}


@pytest.mark.parametrize(("words", "effective", "superseded"), CASES.values(), ids=CASES.keys())
def test_a_run_of_control_intents_is_reduced(
    words: list[str], effective: list[int], superseded: list[tuple[int, int]]
) -> None:
    """What is left does what all of them would have come to."""
    rows = [row(sequence, one) for sequence, one in enumerate(words)]

    assert told(plan(rows)) == (effective, superseded)


def test_another_epoch_ends_the_run() -> None:
    """What was meant for different agents is never merged, not even after a replay."""
    rows = [row(0, "/clear"), row(1, "/clear", epoch=2)]

    assert told(plan(rows)) == ([0], [])


def test_nothing_is_read_beyond_the_run() -> None:
    """Ten thousand waiting prompts cost nothing."""
    read: list[int] = []

    def rows() -> Any:
        for sequence, words in enumerate(["/clear", "/new", "hello", "never"]):
            read.append(sequence)
            yield row(sequence, words)

    plan(rows())

    assert read == [0, 1, 2]
    assert plan([]) is None


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("interrupt", "interrupt"),
        (" /compact ", "submit_prompt:/compact"),
        ("/CLEAR", None),
        ("mail /clear", None),
        ("", None),
    ],
)
def test_an_intent_has_the_contracts_label(words: str, action: str | None) -> None:
    """Results and events carry these words."""
    assert action_of(row(0, words)) == action


def test_coalesced_rows_are_ended_in_the_step_that_takes_the_next(tmp_path: Path) -> None:
    """Row, result and event are the contract's; the retained context action stays in line."""
    path = tmp_path / "queue.sqlite"

    async def story() -> tuple[list[str], Claim, Claim]:
        queue = await open_queue(path)
        ids = []
        for words in ("/compact", "interrupt", "/clear", "interrupt"):
            made = row(0, words)
            accepted = await queue.put(Request(kind=made.kind, payload=made.payload, epoch=1))
            ids.append(accepted.request_id)
        first = await queue.next()
        assert first is not None
        taken = await queue.claim(first.request_id)
        assert queue.counts == Counts(accepted=1, running=1)
        await queue.finish(first.request_id, ExecutionResult(state="completed"))
        second = await queue.next()
        assert second is not None
        last = await queue.claim(second.request_id)
        await queue.close()
        return ids, taken, last

    ids, taken, last = asyncio.run(story())

    assert taken.coalesced is not None
    actions = ("interrupt", "submit_prompt:/clear")
    assert taken == Claim(
        is_taken=True,
        coalesced=Coalesced(
            coalesced_at_utc=taken.coalesced.coalesced_at_utc,
            request_ids=(ids[0], ids[3]),
            effective_request_ids=tuple(sorted((ids[1], ids[2]))),
            effective_actions=actions,
            next_request_id=ids[1],
        ),
    )
    assert last == Claim(is_taken=True)
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT state, result_json, finished_at_utc FROM gateway_requests ORDER BY rowid"
        ).fetchall()
    assert [state for state, _, _ in rows] == ["coalesced", "completed", "running", "coalesced"]
    assert json.loads(rows[0][1]) == {
        "coalesced_at_utc": rows[0][2],
        "coalesced_into_request_id": ids[2],
        "coalesced_reason": "superseded_control_intent",
        "effective_actions": list(actions),
        "original_action": "submit_prompt:/compact",
    }
    assert json.loads(rows[3][1])["coalesced_into_request_id"] == ids[1]


def test_an_intent_that_came_meanwhile_goes_first(tmp_path: Path) -> None:
    """Whoever wanted to take an intent that is no longer next takes nothing, and looks again."""

    async def story() -> tuple[Claim, str | None, list[str]]:
        queue = await open_queue(tmp_path / "queue.sqlite")
        ids = []
        for words in ("/clear", "/new"):
            made = row(0, words)
            ids.append((await queue.put(Request(kind=made.kind, payload=made.payload, epoch=1))).request_id)
        claim = await queue.claim(ids[0])
        following = await queue.next()
        await queue.close()
        return claim, None if following is None else following.request_id, ids

    claim, following, ids = asyncio.run(story())

    assert not claim.is_taken
    assert claim.coalesced is not None
    assert claim.coalesced.request_ids == (ids[0],)
    assert following == ids[1]
