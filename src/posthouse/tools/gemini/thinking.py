"""The reasoning level of one start of the program, set by its environment alone.

The CLI has no flag for it, only settings, in which it expands `${NAME}`. So the home has one override per
level, each for the model named by a variable. A start sets the variable of its level, and no file changes
between turns. (A settings file per turn, by GEMINI_CLI_SYSTEM_SETTINGS_PATH, is ignored unless root owns it
and every folder above it, and would replace the administrator's.)
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from posthouse.errors import InvalidInput

#: Models up to 2.5 and unknown models take a token budget; 0 disables thinking.
_BUDGETS = (512, 2048, 4096, 8192, 16384)
#: From version 3 on the API takes a level, and rejects a budget with it.
_LEVELS = ("LOW", "MEDIUM", "HIGH")
_LEVEL_MODEL_PREFIXES = ("gemini-3", "auto-gemini-3", "gemma-4")
#: Aliases that the CLI resolves to a model of either kind, depending on the account.
_ALIASES = frozenset({"auto", "pro", "flash", "flash-lite"})
#: The CLI's base configurations of its chat models. They also match a model that replaced the requested one.
_BUDGET_FAMILY = "chat-base-2.5"
_LEVEL_FAMILY = "chat-base-3"

_PREFIX = "POSTHOUSE_GEMINI_THINKING_"
_Match = Literal["MODEL", "FAMILY"]


def overrides() -> list[dict[str, Any]]:
    """Our entries of the home's `modelConfigs.customOverrides`."""
    return [
        {
            "match": {"model": f"${{{_variable(rung, match)}}}"},
            "modelConfig": {"generateContentConfig": {"thinkingConfig": config}},
        }
        for rung, config in _ladder_configs()
        for match in ("FAMILY", "MODEL")
    ]


def is_ours(override: object) -> bool:
    """Whether an entry of `customOverrides` is one of `overrides`, of this version or another."""
    match = override.get("match") if isinstance(override, Mapping) else None
    return isinstance(match, Mapping) and str(match.get("model")).startswith("${" + _PREFIX)


def variables(model: str | None, level: int | None) -> dict[str, str]:
    """The environment for *model* (None: the CLI's default) and *level* (None: the model's default).

    Levels count from 1; higher levels are clamped.

    Raises:
        InvalidInput: Level 0 for a model that cannot disable thinking.
    """
    if level is None:
        return {}
    if model is None or model in _ALIASES:
        return {
            _variable(_level(level, model), "FAMILY"): _LEVEL_FAMILY,
            _variable(_budget(level), "FAMILY"): _BUDGET_FAMILY,
        }
    takes_level = model.startswith(_LEVEL_MODEL_PREFIXES)
    rung = _level(level, model) if takes_level else _budget(level)
    return {
        _variable(rung, "FAMILY"): _LEVEL_FAMILY if takes_level else _BUDGET_FAMILY,
        _variable(rung, "MODEL"): model,
    }


def _ladder_configs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((str(budget), {"thinkingBudget": budget}) for budget in (0, *_BUDGETS))
    yield from ((level, {"thinkingLevel": level}) for level in _LEVELS)


def _budget(level: int) -> str:
    return "0" if level == 0 else str(_clamped(_BUDGETS, level))


def _level(level: int, model: str | None) -> str:
    if level == 0:
        raise InvalidInput(
            f"{model or 'the default model'} cannot think at level 0: "
            "name a gemini-2.5 model, or use level 1 or more",
            code="bad_reasoning_level",
        )
    return str(_clamped(_LEVELS, level))


def _clamped(ladder: Sequence[object], level: int) -> object:
    return ladder[min(level, len(ladder)) - 1]


def _variable(rung: str, match: _Match | str) -> str:
    return f"{_PREFIX}{rung}_{match}"
