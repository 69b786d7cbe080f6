"""What the gateway's door lets in."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from posthouse.contracts.gateway_http import InterruptRequest, Request, SubmitPromptRequest

REQUEST: TypeAdapter[Any] = TypeAdapter(Request)


def prompt(**payload: object) -> dict[str, object]:
    return {"kind": "submit_prompt", "payload": {"prompt": "hello", **payload}}


def parse(body: object) -> SubmitPromptRequest | InterruptRequest:
    parsed: SubmitPromptRequest | InterruptRequest = REQUEST.validate_json(json.dumps(body))
    return parsed


ACCEPTED = {
    "a plain prompt": prompt(),
    "with its version": {"schema_version": 1, **prompt()},
    "nulls are like nothing": prompt(turn_id=None, chat_session=None, execution=None),
    "a turn id": prompt(turn_id="turn-0123456789ab"),
    "a chat by mode": prompt(chat_session={"mode": "new"}),
    "a chat by id": prompt(chat_session={"mode": "exact", "id": "abc"}),
    "a model": prompt(execution={"model": {"name": "m"}}),
    "a reasoning level": prompt(execution={"model": {"reasoning": {"level": 0}}}),
    "an interrupt": {"kind": "interrupt", "payload": {}},
}

REFUSED = {
    "nothing": ({}, ["union_tag_not_found"]),
    "an unknown kind": ({"kind": "stop", "payload": {}}, ["union_tag_invalid"]),
    "another version": ({"schema_version": 2, **prompt()}, ["less_than_equal"]),
    "true for a version": ({"schema_version": True, **prompt()}, ["int_type"]),
    "a version with a point": ({"schema_version": 1.0, **prompt()}, ["int_type"]),
    "no payload": ({"kind": "interrupt"}, ["missing"]),
    "an unknown field": ({**prompt(), "force": True}, ["extra_forbidden"]),
    "an unknown field of the payload": (prompt(force=True), ["extra_forbidden"]),
    "an interrupt with a prompt": ({"kind": "interrupt", "payload": {"prompt": "x"}}, ["extra_forbidden"]),
    "a prompt without one": ({"kind": "submit_prompt", "payload": {}}, ["missing"]),
    "a blank prompt": (prompt(prompt=" \n"), ["string_pattern_mismatch"]),
    "a number for a prompt": (prompt(prompt=1), ["string_type"]),
    "a turn id that leaves its folder": (prompt(turn_id="../x"), ["string_pattern_mismatch"]),
    "an exact chat without id": (prompt(chat_session={"mode": "exact"}), ["value_error"]),
    "a new chat with id": (prompt(chat_session={"mode": "new", "id": "x"}), ["value_error"]),
    "an unknown chat mode": (prompt(chat_session={"mode": "last"}), ["literal_error"]),
    "an empty execution": (prompt(execution={}), ["missing"]),
    "a model that selects nothing": (prompt(execution={"model": {}}), ["value_error"]),
    "a blank model": (prompt(execution={"model": {"name": " "}}), ["string_too_short"]),
    "a negative level": (prompt(execution={"model": {"reasoning": {"level": -1}}}), ["greater_than_equal"]),
    "true for a level": (prompt(execution={"model": {"reasoning": {"level": True}}}), ["int_type"]),
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_request_of_the_contract_is_let_in(body: dict[str, object]) -> None:
    """Every shape the contract allows is read as its kind."""
    assert parse(body).kind == body["kind"]


@pytest.mark.parametrize(("body", "problems"), REFUSED.values(), ids=REFUSED.keys())
def test_anything_else_is_refused(body: object, problems: list[str]) -> None:
    """Nothing is coerced, nothing is ignored."""
    with pytest.raises(ValidationError) as refused:
        parse(body)

    assert [problem["type"] for problem in refused.value.errors()] == problems


def test_a_model_name_is_kept_trimmed() -> None:
    """The name is stored without its surrounding spaces."""
    request = parse(prompt(execution={"model": {"name": "  m "}}))

    assert isinstance(request, SubmitPromptRequest)
    assert request.payload.model_dump() == {
        "prompt": "hello",
        "turn_id": None,
        "chat_session": None,
        "execution": {"model": {"name": "m", "reasoning": None}},
    }
