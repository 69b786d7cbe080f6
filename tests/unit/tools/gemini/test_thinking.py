"""Reasoning levels as variables that pick one of the home's overrides."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.gemini import thinking


def _chosen(variables: Mapping[str, str]) -> dict[str, Any]:
    """What the CLI makes of the overrides: those whose variable is set, by the model they match."""
    chosen: dict[str, Any] = {}
    for override in thinking.overrides():
        name = re.fullmatch(r"\$\{(\w+)\}", override["match"]["model"])
        assert name is not None
        if name[1] in variables:
            config = override["modelConfig"]["generateContentConfig"]["thinkingConfig"]
            chosen[variables[name[1]]] = config
    return chosen


@pytest.mark.parametrize(
    ("model", "level", "chosen"),
    [
        ("gemini-2.5-pro", 1, {"gemini-2.5-pro": 512, "chat-base-2.5": 512}),
        ("gemini-2.5-pro", 3, {"gemini-2.5-pro": 4096, "chat-base-2.5": 4096}),
        ("gemini-2.5-pro", 5, {"gemini-2.5-pro": 16384, "chat-base-2.5": 16384}),
        ("gemini-2.5-pro", 99, {"gemini-2.5-pro": 16384, "chat-base-2.5": 16384}),
        ("gemini-2.5-pro", 0, {"gemini-2.5-pro": 0, "chat-base-2.5": 0}),
        ("tuned", 2, {"tuned": 2048, "chat-base-2.5": 2048}),
        ("gemini-3-pro-preview", 1, {"gemini-3-pro-preview": "LOW", "chat-base-3": "LOW"}),
        ("gemini-3.8-flash", 2, {"gemini-3.8-flash": "MEDIUM", "chat-base-3": "MEDIUM"}),
        ("gemini-3.8-flash", 99, {"gemini-3.8-flash": "HIGH", "chat-base-3": "HIGH"}),
        ("gemma-4-31b-it", 1, {"gemma-4-31b-it": "LOW", "chat-base-3": "LOW"}),
        ("auto", 2, {"chat-base-3": "MEDIUM", "chat-base-2.5": 2048}),
        (None, 4, {"chat-base-3": "HIGH", "chat-base-2.5": 8192}),
        (None, None, {}),
        ("gemini-2.5-pro", None, {}),
    ],
)
def test_a_level_is_a_rung_of_the_models_ladder(
    model: str | None, level: int | None, chosen: dict[str, int | str]
) -> None:
    """Numbers up to 2.5, words from 3 on; a level above the ladder is its highest."""
    found = _chosen(thinking.variables(model, level))

    assert found == {
        name: {"thinkingBudget": rung} if isinstance(rung, int) else {"thinkingLevel": rung}
        for name, rung in chosen.items()
    }


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "auto", None])
def test_a_model_that_cannot_stop_thinking_says_so(model: str | None) -> None:
    """Level 0 is an error, not a guess."""
    with pytest.raises(InvalidInput, match="use level 1 or more"):
        thinking.variables(model, 0)


def test_our_overrides_are_known_again() -> None:
    """A newer version of ours replaces them, and keeps everybody else's."""
    assert all(thinking.is_ours(override) for override in thinking.overrides())
    others = [{"match": {"model": "${MINE}"}}, {"match": {}}, {"match": 1}, {}, None]
    assert not any(thinking.is_ours(override) for override in others)
