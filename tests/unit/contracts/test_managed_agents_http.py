"""The coordination server's shapes, on the contract's own examples."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from posthouse.contracts import managed_agents_http as wire

REQUEST: TypeAdapter[Any] = TypeAdapter(wire.ManagedRequest)


def test_a_request_is_typed_by_its_kind() -> None:
    """Both kinds of the contract are understood, with the model for one headless turn."""
    model = {"name": "claude-3-7-sonnet", "reasoning": {"level": 7}}
    prompt = {"request_kind": "submit_prompt", "prompt": "Summarize.", "execution": {"model": model}}

    asked = REQUEST.validate_json(json.dumps(prompt))

    assert asked.model_dump(mode="json") == prompt
    assert REQUEST.validate_json('{"request_kind": "interrupt"}') == wire.Interrupt(request_kind="interrupt")


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "Summarize."},
        {"request_kind": "submit_prompt"},
        {"request_kind": "submit_prompt", "prompt": "  "},
        {"request_kind": "submit_prompt", "prompt": "x", "force": True},
        {"request_kind": "interrupt", "prompt": "x"},
        {"request_kind": "stop"},
    ],
)
def test_anything_else_is_refused(body: dict[str, Any]) -> None:
    """The bare prompt of newer servers included."""
    with pytest.raises(ValidationError):
        REQUEST.validate_json(json.dumps(body))


def test_a_turns_prompt_is_trimmed() -> None:
    """What stands around it does not reach the agent; a blank one is refused."""
    assert wire.TurnRequest.model_validate({"prompt": "  Summarize.\n "}).prompt == "Summarize."
    with pytest.raises(ValidationError):
        wire.TurnRequest.model_validate({"prompt": " \n"})


def test_a_turn_is_named_only_where_there_is_one() -> None:
    """An answer about a TUI has no fields of a headless turn, not even null ones."""
    common = {
        "success": True,
        "tracked_agent_id": "gpu",
        "request_id": "mreq-123",
        "request_kind": "submit_prompt",
        "disposition": "accepted",
        "detail": "accepted",
    }
    turn = {"headless_turn_id": "turn-1", "headless_turn_index": 1}

    assert wire.ManagedAccepted.model_validate(common).model_dump(mode="json") == common
    assert wire.ManagedAccepted.model_validate({**common, **turn}).model_dump(mode="json") == {
        **common,
        **turn,
    }


def test_an_action_names_its_turn_even_when_there_is_none() -> None:
    """Only the paths are left out when nobody knows them."""
    done = wire.ActionDone(tracked_agent_id="gpu", detail="stopped", turn_id=None)

    assert json.loads(done.model_dump_json()) == {
        "success": True,
        "tracked_agent_id": "gpu",
        "detail": "stopped",
        "turn_id": None,
    }


@pytest.mark.parametrize(
    "missing", ["tool", "working_directory", "agent_def_dir", "brain_manifest_path", "role_name"]
)
def test_a_launch_needs_all_five(missing: str) -> None:
    """The refusal names the one that is missing."""
    body = {
        "tool": "claude",
        "working_directory": "/work",
        "agent_def_dir": "/defs",
        "brain_manifest_path": "/brain.yaml",
        "role_name": "scribe",
    }
    wire.HeadlessLaunch.model_validate_json(json.dumps(body))
    del body[missing]

    with pytest.raises(ValidationError) as refused:
        wire.HeadlessLaunch.model_validate_json(json.dumps(body))

    assert [error["loc"] for error in refused.value.errors()] == [(missing,)]
