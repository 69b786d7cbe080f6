"""The judgement about a turn."""

from typing import Any

import pytest

from posthouse.contracts.events import CanonicalEvent, Kind
from posthouse.turns.folder import InterruptRecord
from posthouse.turns.outcome import FinalStatus, TurnOutcome, collect_evidence, infer_outcome

ASKED = InterruptRecord(requested_at_utc="T", reason="interrupt")


def event(
    kind: Kind, event_type: str = "type", raw: dict[str, Any] | None = None, **data: Any
) -> CanonicalEvent:
    return CanonicalEvent(
        kind=kind,
        message=str(data.get("text", "")),
        turn_index=1,
        provider="claude",
        provider_event_type=event_type,
        timestamp_utc="T",
        session_id="s1",
        data=data,
        raw_payload=raw,
    )


SUCCESS = event("completion", status="success", result_text="42", usage={"output_tokens": 1})
ERROR = event("completion", status="error", result_text="API Error: 400")
ABORT = event("completion", raw={"terminal_reason": "aborted_streaming"}, status="error", errors=["stopped"])


@pytest.mark.parametrize(
    ("completion", "returncode", "interrupt", "status"),
    [
        pytest.param(SUCCESS, 0, None, "completed", id="success"),
        pytest.param(SUCCESS, 1, None, "completed", id="a bad exit code does not undo a success"),
        pytest.param(SUCCESS, 0, ASKED, "completed", id="an interrupt that came too late"),
        pytest.param(SUCCESS, None, None, "completed", id="the bridge was killed, the turn was done"),
        pytest.param(ERROR, 0, None, "failed", id="a good exit code does not hide an error"),
        pytest.param(ERROR, 1, ASKED, "failed", id="it failed before it could be interrupted"),
        pytest.param(ABORT, 0, ASKED, "interrupted", id="aborted because we asked"),
        pytest.param(ABORT, 0, None, "failed", id="aborted although nobody asked"),
        pytest.param(None, 143, ASKED, "interrupted", id="silent, and we signalled"),
        pytest.param(None, 0, None, "failed", id="silent, and nobody signalled"),
        pytest.param(None, None, None, "failed", id="silent, and nothing is known"),
    ],
)
def test_the_terminal_event_decides_then_our_signal(
    completion: CanonicalEvent | None,
    returncode: int | None,
    interrupt: InterruptRecord | None,
    status: FinalStatus,
) -> None:
    """Terminal event, else our signal, else a crash; the exit code is only evidence."""
    evidence = collect_evidence([completion] if completion else [])

    assert infer_outcome(evidence, returncode=returncode, interrupt=interrupt).status == status


def test_a_success_tells_answer_conversation_and_usage() -> None:
    """Everything a caller wants comes from the turn's own output."""
    assert infer_outcome(collect_evidence([SUCCESS]), returncode=0, interrupt=None) == TurnOutcome(
        status="completed", session_id="s1", answer="42", error=None, usage={"output_tokens": 1}
    )


@pytest.mark.parametrize(
    ("returncode", "ending"),
    [
        (3, "exit code 3"),
        (-9, "killed by SIGKILL"),
        (-64, "killed by SIGRTMAX"),
        (-200, "killed by signal 200"),
        (None, "exit code not known"),
    ],
)
def test_a_crash_says_how_and_repeats_the_last_complaints(returncode: int | None, ending: str) -> None:
    """The error has the ending and the last lines of stderr."""
    evidence = collect_evidence(event("diagnostic", "stderr", text=f"line {number}") for number in range(10))

    error = infer_outcome(evidence, returncode=returncode, interrupt=None).error

    complaints = "\n".join(f"line {number}" for number in range(2, 10))
    assert error == f"crashed: ended without a result ({ending})\n{complaints}"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"errors": ["one", "two"]}, "one\ntwo"),
        ({"error": {"message": "no quota"}}, "no quota"),
        ({"error": "plain"}, "plain"),
        ({"result_text": "API Error"}, "API Error"),
        ({}, "error"),
    ],
)
def test_a_failure_is_told_in_the_providers_words(data: dict[str, Any], error: str) -> None:
    """Each provider puts its reason elsewhere."""
    evidence = collect_evidence([event("completion", **{"status": "error", **data})])

    assert infer_outcome(evidence, returncode=1, interrupt=None).error == error


def test_without_a_result_text_the_answer_is_what_was_said() -> None:
    """Pieces run together, messages stand apart, and an update replaces what it updates."""
    evidence = collect_evidence(
        [
            event("assistant", text="Hel", delta=True),
            event("assistant", text="lo", delta=True),
            event("assistant", text="dra", item_id="i1"),
            event("assistant", text="draft", item_id="i1"),
            event("assistant", text="", item_id="i2"),
            event("completion", status="success"),
        ]
    )

    assert infer_outcome(evidence, returncode=0, interrupt=None).answer == "Hello\n\ndraft"
