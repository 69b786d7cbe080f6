"""From lines to canonical events."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from posthouse.contracts.events import CanonicalEvent, DecodedRecord, Provider
from posthouse.turns.event_decoding import EventDecoder, encode
from posthouse.turns.tail import Overlong


class Words:
    """A provider whose records say what they are; `bad` is one that nobody foresaw."""

    PROVIDER: Provider = "codex"

    def decode(self, record: Mapping[str, Any]) -> Sequence[DecodedRecord]:
        if "bad" in record:
            raise KeyError("bad")
        return [DecodedRecord(kind="assistant", provider_event_type="say", message=str(record.get("say")))]

    def session_id(self, record: Mapping[str, Any]) -> str | None:
        return record.get("session_id")


def event_decoder() -> EventDecoder:
    return EventDecoder(Words(), 7, now=lambda: "T")


def test_a_record_becomes_an_event_in_its_turn() -> None:
    """The event carries the turn, the provider, the time and the record itself."""
    assert list(event_decoder().stdout(b'{"say": "hi", "session_id": "s1"}')) == [
        CanonicalEvent(
            kind="assistant",
            message="hi",
            turn_index=7,
            provider="codex",
            provider_event_type="say",
            timestamp_utc="T",
            session_id="s1",
            raw_payload={"say": "hi", "session_id": "s1"},
        )
    ]


def test_the_first_conversation_id_holds_for_all_that_follows() -> None:
    """A record without an id belongs to the conversation named before; a later name changes nothing."""
    teller = event_decoder()
    lines = (b'{"say": 1}', b'{"session_id": "s1"}', b'{"session_id": "s2"}', b"{}")

    assert [event.session_id for line in lines for event in teller.stdout(line)] == [None, "s1", "s1", "s1"]


@pytest.mark.parametrize(
    ("line", "event_type"),
    [
        pytest.param(b"warming up", "raw_text", id="not JSON"),
        pytest.param(b'{"say": NaN}', "raw_text", id="NaN is not JSON"),
        pytest.param(b"[" * 100_000, "raw_text", id="deep beyond reading"),
        pytest.param(b'{"a":' * 101 + b"1" + b"}" * 101, "raw_text", id="deep beyond bound"),
        pytest.param(b"\xff\xfe", "raw_text", id="not UTF-8"),
        pytest.param(b"[1, 2]", "non_mapping", id="a list"),
        pytest.param(b'"text"', "non_mapping", id="a string"),
        pytest.param(b'{"bad": 1}', "undecodable", id="a record nobody foresaw"),
        pytest.param(Overlong(9_000_000), "raw_text", id="too long"),
    ],
)
def test_what_cannot_be_understood_is_told_as_a_diagnostic(line: bytes | Overlong, event_type: str) -> None:
    """One bad line never ends the telling, and is never lost silently."""
    (event,) = event_decoder().stdout(line)

    assert (event.kind, event.provider_event_type) == ("diagnostic", event_type)
    assert event.data is not None
    assert event.data["severity"] == "warning"
    assert 0 < len(event.data["text"]) <= 4000
    assert "\n" not in event.message


def test_brackets_inside_text_are_not_depth() -> None:
    """A record full of brackets is read as usual."""
    line = json.dumps({"say": "[" * 500}).encode()

    assert [event.kind for event in event_decoder().stdout(line)] == ["assistant"]


def test_stderr_is_one_diagnostic_for_each_line_with_text() -> None:
    """Blank lines say nothing."""
    teller = event_decoder()
    events = [event for line in (b"oops", b"", b"  \r") for event in teller.stderr(line)]

    assert [(event.kind, event.provider_event_type, event.data) for event in events] == [
        ("diagnostic", "stderr", {"text": "oops"})
    ]


def test_blank_lines_of_stdout_say_nothing() -> None:
    """Between records there may be empty lines."""
    assert list(event_decoder().stdout(b" \r")) == []


def test_an_event_survives_its_line_even_with_half_a_surrogate_pair() -> None:
    """Whatever text a provider escapes into JSON can be written and read back."""
    (event,) = event_decoder().stdout(b'{"say": "\\ud800 \\u00e9"}')

    line = encode(event)

    assert line.endswith(b"\n")
    assert CanonicalEvent.from_record(json.loads(line)) == event
