"""What a transcript's exchange means for the receipt of its prompt."""

from dataclasses import replace

import pytest

from posthouse.agent.adapter import PromptResult
from posthouse.gateway.receipts import matching
from posthouse.tools.tool import Exchange, TranscriptPosition

AT = "2026-11-15T05:32:12.068Z"
RUNNING = Exchange(
    prompt="hi",
    submitted_at_utc=AT,
    answer="words",
    usage={"output_tokens": 5},
    position=TranscriptPosition(file="a.jsonl", offset=7),
)


@pytest.mark.parametrize(
    ("exchange", "ending"),
    [
        (replace(RUNNING, outcome="success"), PromptResult(outcome="completed", answer="words")),
        (replace(RUNNING, outcome="error"), PromptResult(outcome="failed", error="words")),
        (replace(RUNNING, outcome="interrupted"), PromptResult(outcome="interrupted", answer="words")),
    ],
    ids=["success", "error", "interrupted"],
)
def test_an_end_is_told_with_its_tokens_and_where_it_stands(exchange: Exchange, ending: PromptResult) -> None:
    """However the turn ended, it has used tokens, and its prompt's line is the evidence."""
    evidence = {"source": "transcript", "submitted_at_utc": AT, "file": "a.jsonl", "offset": 7}

    assert matching.ending_of(exchange) == replace(ending, evidence=evidence, usage={"output_tokens": 5})


def test_a_turn_that_runs_has_no_end() -> None:
    """Nothing is told too early."""
    assert matching.ending_of(RUNNING) is None
