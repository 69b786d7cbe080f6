"""How hard the model thinks in one start of the program, told by its environment alone.

The CLI has no flag for it, only settings, in which it expands `${NAME}`. So the home holds one override for
every rung of the ladders, each for the model that a variable names; a start sets the variable of its rung,
and no file changes between turns. (A settings file for each turn, by GEMINI_CLI_SYSTEM_SETTINGS_PATH, is
ignored unless root owns it and every folder above it, and would take the place of the administrator's.)
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from posthouse.errors import InvalidInput

#: Models up to 2.5 and those we know nothing of are given a number of tokens; 0 turns thinking off.
_BUDGETS = (512, 2048, 4096, 8192, 16384)
#: From 3 on the API takes a level, and refuses a number beside it.
_LEVELS = ("LOW", "MEDIUM", "HIGH")
_LEVELLED = ("gemini-3", "auto-gemini-3", "gemma-4")
#: Names that the CLI resolves to a model of either kind, as the account allows.
_EITHER = frozenset({"auto", "pro", "flash", "flash-lite"})
#: The CLI's own configurations that its chat models inherit from. They also reach a model that it replaced
#: by a newer one, which the name asked for does not.
_BUDGET_FAMILY = "chat-base-2.5"
_LEVEL_FAMILY = "chat-base-3"

_PREFIX = "POSTHOUSE_GEMINI_THINKING_"
_Match = Literal["MODEL", "FAMILY"]


class BadReasoningLevel(InvalidInput):
    """The model has no such level; nothing was started."""

    code = "bad_reasoning_level"


def overrides() -> list[dict[str, Any]]:
    """What the home's `modelConfigs.customOverrides` must hold."""
    return [
        {
            "match": {"model": f"${{{_variable(rung, match)}}}"},
            "modelConfig": {"generateContentConfig": {"thinkingConfig": config}},
        }
        for rung, config in _rungs()
        for match in ("FAMILY", "MODEL")
    ]


def is_ours(override: object) -> bool:
    """Whether an entry of `customOverrides` is one of `overrides`, of this version or another."""
    match = override.get("match") if isinstance(override, Mapping) else None
    return isinstance(match, Mapping) and str(match.get("model")).startswith("${" + _PREFIX)


def variables(model: str | None, level: int | None) -> dict[str, str]:
    """The environment with which *model* (None: the CLI's own choice) thinks at *level* (None: as it does).

    Levels count from 1; those above the model's ladder are its highest.

    Raises:
        BadReasoningLevel: Level 0 for a model that cannot stop thinking.
    """
    if level is None:
        return {}
    if model is None or model in _EITHER:
        return {
            _variable(_level(level, model), "FAMILY"): _LEVEL_FAMILY,
            _variable(_budget(level), "FAMILY"): _BUDGET_FAMILY,
        }
    is_levelled = model.startswith(_LEVELLED)
    rung = _level(level, model) if is_levelled else _budget(level)
    return {
        _variable(rung, "FAMILY"): _LEVEL_FAMILY if is_levelled else _BUDGET_FAMILY,
        _variable(rung, "MODEL"): model,
    }


def _rungs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((str(budget), {"thinkingBudget": budget}) for budget in (0, *_BUDGETS))
    yield from ((level, {"thinkingLevel": level}) for level in _LEVELS)


def _budget(level: int) -> str:
    return "0" if level == 0 else str(_saturated(_BUDGETS, level))


def _level(level: int, model: str | None) -> str:
    if level == 0:
        raise BadReasoningLevel(
            f"{model or 'the default model'} cannot think at level 0: "
            "name a gemini-2.5 model, or use level 1 or more"
        )
    return str(_saturated(_LEVELS, level))


def _saturated(ladder: Sequence[object], level: int) -> object:
    return ladder[min(level, len(ladder)) - 1]


def _variable(rung: str, match: _Match | str) -> str:
    return f"{_PREFIX}{rung}_{match}"
