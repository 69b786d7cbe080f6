"""Gemini's own conversations, on records as the real one writes them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posthouse.tools.gemini import transcript
from posthouse.tools.tool import Exchange, TranscriptPosition

CONTEXT = {"id": "0", "type": "user", "content": [{"text": "<session_context>\nThis is the Gemini CLI.\n"}]}
AT = "2026-11-15T05:10:34.809Z"
AT_UTC = "2026-11-15T05:10:34.809000+00:00"


def _user(text: str, **more: Any) -> dict[str, Any]:
    return {"id": text, "timestamp": AT, "type": "user", "content": [{"text": text}], **more}


def _gemini(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "g", "timestamp": AT, "type": "gemini", "content": text, "thoughts": [], **more}


class Home:
    """A home with one project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.where = folder / "home", folder / "proj"
        self.where.mkdir()
        self.chats = self.home / ".gemini" / "tmp" / "proj" / "chats"
        self.chats.mkdir(parents=True)
        projects = {"projects": {str(self.where.resolve()): "proj"}}
        (self.home / ".gemini" / "projects.json").write_text(json.dumps(projects))

    def write(self, *records: dict[str, Any], name: str = "session-2026-11-15T05-10-422c51cf") -> Path:
        path = self.chats / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def told(self) -> list[Exchange]:
        """What is told, wherever it stands."""
        return [replace(each, position=None) for each in transcript.exchanges(self.home, self.where)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def _exchange(prompt: str, answer: str | None = None, outcome: Any = None) -> Exchange:
    return Exchange(prompt=prompt, submitted_at_utc=AT_UTC, answer=answer, outcome=outcome)


@pytest.mark.parametrize(
    ("records", "exchange"),
    [
        pytest.param([], _exchange("hi"), id="it runs"),
        pytest.param([_gemini("OK")], _exchange("hi", "OK", "success"), id="it is answered"),
        pytest.param([_gemini("")], _exchange("hi"), id="it asks for a tool"),
        pytest.param(
            [_gemini("I look", toolCalls=[{"name": "ls"}]), _user("", content=[{"functionResponse": {}}])],
            _exchange("hi"),
            id="and goes on with what the tool said",
        ),
        pytest.param(
            [_gemini("I look", toolCalls=[{"name": "ls"}]), _gemini([{"text": "O"}, {"text": "K"}])],  # type: ignore[arg-type]
            _exchange("hi", "OK", "success"),
            id="to its answer, in parts",
        ),
        pytest.param(
            [{"id": "e", "type": "error", "content": "[API Error: x]"}, {"type": "info", "content": "F12"}],
            _exchange("hi", "[API Error: x]", "error"),
            id="the API refuses it",
        ),
        pytest.param(
            [{"id": "i", "type": "info", "content": "Request cancelled."}, _gemini("of the past")],
            _exchange("hi", None, "interrupted"),
            id="it is interrupted, and the history set right",
        ),
    ],
)
def test_what_became_of_a_prompt(home: Home, records: list[dict[str, Any]], exchange: Exchange) -> None:
    """The CLI's own words, and what it takes back, are left out."""
    home.write({"sessionId": "s"}, CONTEXT, _user("hi"), *records, {"$set": {"messages": [CONTEXT]}})

    assert home.told() == [exchange]


def test_a_killed_turn_was_interrupted_when_the_next_begins(home: Home) -> None:
    """It left no word of its end."""
    home.write(CONTEXT, _user("one"), _user("two"))

    assert home.told() == [_exchange("one", None, "interrupted"), _exchange("two")]


def _used(new: int, out: int) -> dict[str, Any]:
    counts = {"input": new, "output": out, "cached": 2, "thoughts": 1, "tool": 0}
    return {"tokens": {**counts, "total": new + out}}


def test_a_turns_tokens_are_those_of_its_messages(home: Home) -> None:
    """A message that is written again when its tool was called is counted once."""
    asks = _gemini("", id="g1", **_used(10, 5))
    called = {**asks, "toolCalls": [{"name": "ls"}]}
    home.write(
        _user("hi"), asks, called, _gemini("OK", id="g2", **_used(20, 7)), _user("next"), _gemini("OK")
    )

    assert [each.usage for each in home.told()] == [
        {
            "input_tokens": 30,
            "cached_input_tokens": 4,
            "output_tokens": 12,
            "thoughts_token_count": 2,
            "total_tokens": 42,
        },
        None,
    ]


def test_a_prompt_is_found_where_it_stands(home: Home) -> None:
    """By the byte where its record begins."""
    path = home.write(CONTEXT, _user("ünï"), _user("two"))

    told = transcript.exchanges(home.home, home.where)

    lines = path.read_bytes().splitlines(keepends=True)
    offsets = [len(lines[0]), len(lines[0]) + len(lines[1])]
    assert [each.position for each in told] == [
        TranscriptPosition(file=path.name, offset=offset) for offset in offsets
    ]


def test_a_prompt_is_what_was_typed(home: Home) -> None:
    """Files that it names are read into what the model gets."""
    home.write(_user("see @notes.txt\n--- Content", displayContent=[{"text": "see @notes"}]))

    assert home.told() == [_exchange("see @notes")]


def test_the_newest_conversation_counts(home: Home) -> None:
    """Which is the one where something was said last: the CLI writes summaries into older ones."""
    said_before = {**_user("old"), "timestamp": "2026-11-15T04:00:00.000Z"}
    home.write(_user("new"), name="session-a")
    home.write(said_before, {"$set": {"summary": "Talk"}}, name="session-b")

    assert home.told() == [_exchange("new")]


def test_a_conversation_that_has_just_begun_is_the_newest(home: Home) -> None:
    """After the reset command nothing has been said yet."""
    home.write(_user("old"), name="session-a")
    home.write({"sessionId": "b", "startTime": "2026-11-15T06:00:00.000Z"}, name="session-b")

    assert home.told() == []


def test_only_a_bounded_end_is_read(home: Home) -> None:
    """And no half of a record."""
    home.write(_user("first"), _gemini("x" * 5_000_000), _user("last"))

    assert home.told() == [_exchange("last")]


def test_half_a_line_and_foreign_lines_are_left_out(home: Home) -> None:
    """The CLI is in the middle of writing, or a newer one."""
    path = home.write(_user("hi"))
    with path.open("a") as stream:
        stream.write('[]\nno json\n{"type": 7}\n' + json.dumps(_user("half")))

    assert home.told() == [_exchange("hi")]


@pytest.mark.parametrize("content", ["{", "[]", '{"projects": 1}', '{"projects": {}}', None])
def test_without_a_conversation_nothing_is_told(home: Home, content: str | None) -> None:
    """Whatever the home holds instead."""
    home.write(_user("hi"))
    projects = home.home / ".gemini" / "projects.json"
    projects.unlink()
    if content is not None:
        projects.write_text(content)

    assert home.told() == []


def test_a_project_without_chats_has_told_nothing(home: Home) -> None:
    """It was opened, and no more."""
    assert home.told() == []
