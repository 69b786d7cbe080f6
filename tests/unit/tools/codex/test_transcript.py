"""Codex's own record of a conversation."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from posthouse.tools.codex import transcript
from posthouse.tools.tool import Exchange, TranscriptPosition
from posthouse.tools.transcripts import TranscriptRecord

AT = "2026-11-15T05:04:44.409Z"


def _event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "ordinal": 1, "type": "event_msg", "payload": payload}


def _prompt(text: str) -> dict[str, Any]:
    item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
    return _event(type="item_completed", item=item)


def _exchange(prompt: str, **fields: Any) -> Exchange:
    return Exchange(prompt=prompt, submitted_at_utc=AT, **fields)


STARTED = _event(type="task_started")
ANSWERED = _event(type="task_complete", last_agent_message="hello")
ANSWER = _event(type="item_completed", item={"type": "AgentMessage", "content": [{"text": "hello"}]})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([STARTED, _prompt("hi")], [_exchange("hi")], id="a turn that runs"),
        pytest.param(
            [STARTED, _prompt("hi"), ANSWER, ANSWERED],
            [_exchange("hi", answer="hello", outcome="success")],
            id="an answer",
        ),
        pytest.param(
            [STARTED, _prompt("hi"), _event(type="task_complete", error={"message": "bad"})],
            [_exchange("hi", answer="bad", outcome="error")],
            id="an error of the API",
        ),
        pytest.param(
            [STARTED, _prompt("hi"), _event(type="error", message="bad"), ANSWERED],
            [_exchange("hi", answer="bad", outcome="error")],
            id="an error as older versions tell it",
        ),
        pytest.param(
            [STARTED, _prompt("hi"), _event(type="turn_aborted", reason="interrupted")],
            [_exchange("hi", outcome="interrupted")],
            id="an interrupted turn",
        ),
        pytest.param(
            [STARTED, _prompt("hi"), STARTED, _prompt("again"), ANSWERED],
            [
                _exchange("hi", outcome="interrupted"),
                _exchange("again", answer="hello", outcome="success"),
            ],
            id="a turn that was killed",
        ),
        pytest.param(
            [STARTED, _prompt("hi"), _prompt("and"), ANSWERED],
            [
                _exchange("hi", answer="hello", outcome="success"),
                _exchange("and", answer="hello", outcome="success"),
            ],
            id="a prompt that steered the turn",
        ),
        pytest.param(
            [_event(type="user_message", message="hi"), ANSWERED],
            [_exchange("hi", answer="hello", outcome="success")],
            id="a prompt as older versions tell it",
        ),
    ],
)
def test_events_are_told_as_exchanges(events: list[dict[str, Any]], expected: list[Exchange]) -> None:
    """Each prompt with what became of it."""
    assert transcript.parse(TranscriptRecord(fields=event) for event in events) == expected


def _used(total: int, last: int) -> dict[str, Any]:
    """What codex writes after each request to the model, and whenever a rate limit changes."""
    return _event(
        type="token_count", info={"total_token_usage": _counts(total), "last_token_usage": _counts(last)}
    )


def _counts(number: int) -> dict[str, int]:
    return {
        "input_tokens": number,
        "cached_input_tokens": 0,
        "output_tokens": number,
        "reasoning_output_tokens": 0,
        "total_tokens": 2 * number,
    }


def test_a_turns_tokens_are_those_of_its_requests() -> None:
    """Each is counted once, and not again when the next turn begins; a prompt that steers adds none."""
    nothing_yet = _event(type="token_count", info=None)
    first = [STARTED, nothing_yet, _prompt("hi"), _used(7, 7), _prompt("and"), _used(10, 3), _used(10, 3)]
    second = [STARTED, _used(10, 3), _prompt("next"), _used(15, 5), ANSWERED]

    told = transcript.parse(TranscriptRecord(fields=event) for event in (*first, ANSWERED, *second))

    assert [each.usage for each in told] == [_counts(10), None, _counts(5)]


def _rollout(home: Path, name: str, cwd: Path, *events: Any, source: Any = "cli", age: int = 0) -> Path:
    folder = home / "sessions" / "2026" / "11" / "15"
    folder.mkdir(parents=True, exist_ok=True)
    meta = {"type": "session_meta", "payload": {"cwd": str(cwd), "source": source}}
    path = folder / f"rollout-{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (meta, *events)))
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def test_the_newest_conversation_of_the_folder_is_told(tmp_path: Path) -> None:
    """Not that of another folder, an older one, or one of the agent's own helpers."""
    where = tmp_path / "proj"
    _rollout(tmp_path, "older", where, STARTED, _prompt("older"), age=20)
    _rollout(tmp_path, "ours", where, STARTED, _prompt("ours"), age=10)
    _rollout(tmp_path, "helper", where, STARTED, _prompt("helper"), source={"subagent": "review"}, age=1)
    _rollout(tmp_path, "other", tmp_path, STARTED, _prompt("other"))

    assert [each.prompt for each in transcript.exchanges(tmp_path, where)] == ["ours"]


def test_what_is_half_written_is_left_out(tmp_path: Path) -> None:
    """A last line without its end, a line that is no record, a file that has just been made."""
    path = _rollout(tmp_path, "ours", tmp_path, STARTED, _prompt("hi"), age=5)
    with path.open("a") as stream:
        stream.write('{"type": "event_msg", "payload"\n' + json.dumps(ANSWERED))
    (path.parent / "rollout-new.jsonl").touch()

    before = sum(len(line) for line in path.read_bytes().splitlines(keepends=True)[:2])
    place = TranscriptPosition(file="rollout-ours.jsonl", offset=before)
    assert transcript.exchanges(tmp_path, tmp_path) == [_exchange("hi", position=place)]


def test_of_a_long_conversation_the_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is, little is read."""
    monkeypatch.setattr(transcript, "_TAIL_BYTES", 400)  # a real one would take seconds to write
    _rollout(tmp_path, "ours", tmp_path, *[_prompt(f"prompt {number}") for number in range(50)])

    told = [each.prompt for each in transcript.exchanges(tmp_path, tmp_path)]
    assert told[-1] == "prompt 49"
    assert 0 < len(told) < 5


def test_without_a_conversation_there_is_nothing(tmp_path: Path) -> None:
    """A home that was never used."""
    assert transcript.exchanges(tmp_path / "none", tmp_path) == []
