"""What is kept of each call."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

from posthouse.testing.model_api.recording import PROMPT_TAIL_CHARS, Asked, Record, Recorder
from posthouse.testing.model_api.script import Entry
from posthouse.testing.model_api.wire import Call


def asked(prompt: str) -> Asked:
    history = [Entry("user", "before"), Entry("assistant"), Entry("user", prompt)]
    call = Call(model="m", history=history, tools=["Bash"], effort={"effort": "low"}, is_streaming=True)
    return Asked(
        api="openai", path="/v1/responses", call=call, body=b"x" * 99, step="mock:ok", user_agent="cli/1"
    )


def test_a_call_is_kept_with_all_that_tests_compare() -> None:
    """A record has the prompt, whose it was, and what answered it."""
    recorder = Recorder()

    record = recorder.begin(asked("hello"))

    assert recorder.since(0) == [record]
    assert replace(record, at=0.0) == Record(
        seq=1,
        at=0.0,
        api="openai",
        path="/v1/responses",
        model="m",
        main=True,
        bytes=99,
        turns=2,
        prompt="hello",
        prompt_chars=5,
        prompt_sha256=hashlib.sha256(b"hello").hexdigest(),
        tools=("Bash",),
        step="mock:ok",
        effort={"effort": "low"},
        stream=True,
        user_agent="cli/1",
        outcome="started",
    )


def test_a_long_prompt_keeps_its_end_and_the_hash_of_all() -> None:
    """Memory stays small, and a lost or doubled part still shows."""
    prompt = "x" * 10_000 + "end"

    record = Recorder().begin(asked(prompt))

    assert len(record.prompt) == PROMPT_TAIL_CHARS
    assert (record.prompt[-3:], record.prompt_chars) == ("end", 10_003)
    assert record.prompt_sha256 == hashlib.sha256(prompt.encode()).hexdigest()


def test_the_outcome_is_added_in_place() -> None:
    """The order is that of the calls, whichever ends first; a later outcome replaces an earlier one."""
    recorder = Recorder()
    first, second = recorder.begin(asked("a")), recorder.begin(asked("b"))

    recorder.end(second, "completed")
    recorder.end(first, "completed")
    recorder.end(first, "client_gone", gone_after_s=0.5)

    outcomes = [(record.prompt, record.outcome, record.gone_after_s) for record in recorder.since(0)]
    assert outcomes == [("a", "client_gone", 0.5), ("b", "completed", None)]
    assert [record.prompt for record in recorder.since(1)] == ["b"]


def test_what_was_forgotten_stays_forgotten() -> None:
    """A call from before a reset that ends after it does not come back, nor as another's outcome."""
    recorder = Recorder()
    old = recorder.begin(asked("old"))
    recorder.forget()
    new = recorder.begin(asked("new"))

    recorder.end(old, "completed")

    assert recorder.since(0) == [new]
    assert new.seq == 1


def test_the_log_gets_a_line_per_call(tmp_path: Path) -> None:
    """Another process can follow what is asked."""
    recorder = Recorder(tmp_path / "calls.jsonl")
    records = [recorder.begin(asked(prompt)) for prompt in ("eins", "zwei ö")]

    lines = (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()

    assert [json.loads(line) for line in lines] == [
        json.loads(json.dumps(asdict(record))) for record in records
    ]
