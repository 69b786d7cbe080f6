"""Claude Code's own record, line by line as the real program writes it."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posthouse.tools.claude import transcript
from posthouse.tools.tool import Exchange, TranscriptPosition
from posthouse.tools.transcripts import TranscriptRecord

AT = "2026-11-15T05:32:12.068Z"
LATER = "2026-11-15T05:32:13.002Z"


def _said(text: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "timestamp": AT, "message": {"role": "user", "content": text}, **fields}


def _answer(text: str, reason: str | None = "end_turn", *, id: str = "m1", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else [{"type": "tool_use", "name": "Bash"}]
    message = {"id": id, "model": "m", "content": content, "stop_reason": reason}
    return {
        "type": "assistant",
        "timestamp": AT,
        "message": {**message, **fields.pop("message", {})},
        **fields,
    }


def _block(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


SYNTHETIC: Any = {"message": {"model": "<synthetic>", "stop_reason": "stop_sequence"}}
CUT = _said(_block("[Request interrupted by user]"))
TOOL_RESULT = _said([{"type": "tool_result", "content": "made", "is_error": False}])
ENDED = {"type": "system", "subtype": "turn_duration", "timestamp": AT}


def _exchange(prompt: str, answer: str | None = None, outcome: Any = None) -> Exchange:
    return Exchange(prompt=prompt, submitted_at_utc=AT, answer=answer, outcome=outcome)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([_said("hi")], [_exchange("hi")], id="a turn that runs"),
        pytest.param([_said("hi"), _answer("OK")], [_exchange("hi", "OK", "success")], id="an answer"),
        pytest.param(
            [_answer("OK", timestamp=LATER), {"type": "mode"}, _said("hi"), {**ENDED, "timestamp": LATER}],
            [_exchange("hi", "OK", "success")],
            id="an answer that was written before its prompt",
        ),
        pytest.param(
            [
                _said("hi"),
                _answer("first I", "tool_use", id="a"),
                _answer("", "tool_use", id="a"),
                TOOL_RESULT,
                _answer("done", id="b"),
            ],
            [_exchange("hi", "done", "success")],
            id="the answer is what was said last",
        ),
        pytest.param(
            [_said("hi"), _answer("one", None), _answer("two", None), ENDED],
            [_exchange("hi", "one\n\ntwo", "success")],
            id="an answer whose end is told by itself",
        ),
        pytest.param(
            [_said("hi"), _answer("par", **SYNTHETIC), CUT],
            [_exchange("hi", "par", "interrupted")],
            id="an interruption keeps what was said",
        ),
        pytest.param(
            [
                _said("hi"),
                _answer("", "tool_use"),
                _said(_block("[Request interrupted by user for tool use]")),
            ],
            [_exchange("hi", None, "interrupted")],
            id="a question answered with no",
        ),
        pytest.param(
            [_said("hi"), _answer("API Error: 400", isApiErrorMessage=True, **SYNTHETIC), ENDED],
            [_exchange("hi", "API Error: 400", "error")],
            id="an error of the API",
        ),
        pytest.param(
            [_said("hi"), _answer("OK"), _said("taken back"), _said("next")],
            [
                _exchange("hi", "OK", "success"),
                _exchange("taken back", None, "interrupted"),
                _exchange("next"),
            ],
            id="a prompt that was taken back ends with the next one",
        ),
        pytest.param(
            [
                _said("hi"),
                {
                    "type": "attachment",
                    "timestamp": AT,
                    "attachment": {"type": "queued_command", "prompt": "and this"},
                },
                _answer("both"),
            ],
            [_exchange("hi", "both", "success"), _exchange("and this", "both", "success")],
            id="a prompt that joins a turn ends with it",
        ),
        pytest.param(
            [_said(_block("look")), _answer("seen")],
            [_exchange("look", "seen", "success")],
            id="a prompt in blocks",
        ),
        pytest.param(
            [
                _said("<bash-input>ls</bash-input>"),
                _said("<bash-stdout></bash-stdout>"),
                _said("<command-name>/compact</command-name>"),
                _said("<local-command-stdout>Compacted</local-command-stdout>"),
                _said("the summary", isCompactSummary=True),
                _said("a caveat", isMeta=True),
                _said("of a helper", isSidechain=True),
                _answer("of a helper", isSidechain=True),
                _said("<task-notification>done</task-notification>"),
                {"type": "attachment", "attachment": {"type": "skill_listing"}},
                {
                    "type": "attachment",
                    "attachment": {
                        "type": "queued_command",
                        "commandMode": "task-notification",
                        "prompt": "x",
                    },
                },
                {"type": "assistant", "message": "?"},
                {"type": "mode"},
                {},
            ],
            [],
            id="nothing of this was asked",
        ),
    ],
)
def test_records_tell_exchanges(records: list[dict[str, Any]], expected: list[Exchange]) -> None:
    """One row per story."""
    assert transcript.parse(TranscriptRecord(fields=record) for record in records) == expected


def _used(new: int, cached: int, out: int) -> dict[str, Any]:
    """Of a message, as the program writes it."""
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}
    usage = {"input_tokens": new, **cache, "output_tokens": out, "service_tier": "standard"}
    return {"message": {"usage": usage}}


def test_a_turns_tokens_are_those_of_its_messages() -> None:
    """Each is counted once, however many lines tell of it; a prompt that joins adds none."""
    joining = {"type": "queued_command", "prompt": "and this"}
    records = [
        _said("hi"),
        _answer("first I", "tool_use", id="a", **_used(10, 0, 1)),
        _answer("", "tool_use", id="a", **_used(10, 0, 5)),
        TOOL_RESULT,
        {"type": "attachment", "timestamp": AT, "attachment": joining},
        _answer("of a helper", isSidechain=True, **_used(1000, 0, 1000)),
        _answer("done", id="b", **_used(3, 10, 7)),
        ENDED,
        _said("next"),
        _answer("OK", id="c", **_used(1, 20, 2)),
    ]

    told = transcript.parse(TranscriptRecord(fields=record) for record in records)

    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counted = [dict(zip(names, counts, strict=True)) for counts in ((13, 0, 10, 12), (1, 0, 20, 2))]
    assert [each.usage for each in told] == [counted[0], None, counted[1]]


def _write(path: Path, *prompts: str, age: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(_said(prompt)) + "\n" for prompt in prompts))
    os.utime(path, (1_000_000 - age, 1_000_000 - age))


def test_the_newest_conversation_of_the_folder_is_read(tmp_path: Path) -> None:
    """Not that of a helper, nor of another folder, nor a line that is still being written."""
    where = tmp_path / "my.proj"
    where.mkdir()
    folder = tmp_path / "home" / "projects" / transcript.folder_name(str(where))
    _write(folder / "old.jsonl", "old", age=9)
    _write(folder / "new.jsonl", "new", age=5)
    _write(folder / "agent-1.jsonl", "helper")
    _write(folder / "other" / "x.jsonl", "deeper")
    with (folder / "new.jsonl").open("a") as stream:
        stream.write("no JSON\n[1]\n" + json.dumps(_said("half"))[:-5])
    os.utime(folder / "new.jsonl", (999_999, 999_999))

    [exchange] = transcript.exchanges(tmp_path / "home", where)
    assert exchange == replace(_exchange("new"), position=TranscriptPosition(file="new.jsonl", offset=0))
    assert transcript.exchanges(tmp_path / "home", tmp_path) == []


def test_only_the_end_of_a_huge_conversation_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first whole line on."""
    monkeypatch.setattr(transcript, "_TAIL_BYTES", 300)
    folder = tmp_path / "home" / "projects" / transcript.folder_name(str(tmp_path))
    _write(folder / "a.jsonl", *(f"prompt {number}" for number in range(9)))

    prompts = [exchange.prompt for exchange in transcript.exchanges(tmp_path / "home", tmp_path)]
    assert prompts == ["prompt 7", "prompt 8"]


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/me/my.proj_1", "-home-me-my-proj-1"),
        ("/ü𝄞", "----"),
        ("/\udcff", "--"),
        ("/" + "a" * 200, "-" + "a" * 199 + "-b6ymvl"),
    ],
)
def test_a_folder_is_named_as_the_program_names_it(folder: str, name: str) -> None:
    """Letters and digits stay; characters beyond the first plane count twice."""
    assert transcript.folder_name(folder) == name
