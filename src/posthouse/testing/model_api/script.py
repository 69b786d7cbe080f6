"""What a model call is answered with, as the prompt itself says it.

A prompt may hold any number of directives; the k-th answers the k-th model call of that turn, so that
"ask for a tool, then finish" is two of them:

    mock:slow                  a scenario of scenarios.json
    [[mock {"text": "hi"}]]    a step spelled out, with the keys of `Step.parse`
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

_DIRECTIVE = re.compile(r"\[\[mock\s+(\{.*?\})\s*\]\]|(?<![\w/])mock:([A-Za-z0-9_-]+)", re.DOTALL)
_WORDS_PER_LINE = 12

#: Names of the keys in a directive that are not the names of the fields.
_FIELD_OF_KEY = {
    "delay": "delay_seconds",
    "first_delay": "first_delay_seconds",
    "chunk_delay": "chunk_delay_seconds",
    "args": "arguments",
}


class BadStep(ValueError):
    """A directive that is no step; the message is what the model answers instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer of the model."""

    #: The directive it comes from.
    key: str = "default"
    text: str = ""
    #: This many numbered words instead of the text.
    words: int = 0
    #: The prompt's last so many lines instead of the text: what a model does that is told what to print.
    repeat_lines: int = 0
    #: In how many deltas the text is sent.
    chunks: int = 1
    chunk_delay_seconds: float = 0
    #: Before the response's headers.
    delay_seconds: float = 0
    #: After the headers, before the first delta.
    first_delay_seconds: float = 0
    #: Wait for a release after half of the deltas.
    hold: bool = False
    #: Reasoning that is sent before the text.
    thinking: str = ""
    #: A command to ask for, by whatever shell tool the caller has declared.
    shell: str = ""
    #: A tool to ask for by its name, and what to give it.
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: An HTTP error instead of an answer.
    status: int | None = None
    error_type: str = "api_error"
    message: str = "scripted error"
    code: str | None = None
    #: What stands in the error beside these, for example when a usage limit ends.
    error_fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Fail only this often, then answer. None: always.
    times: int | None = None
    #: Break the connection after this many deltas.
    drop_after: int | None = None
    input_tokens: int = 10
    output_tokens: int = 5

    @classmethod
    def parse(cls, key: str, keys: Mapping[str, Any]) -> "Step":
        """The step that *keys* spell; durations are `delay`, `first_delay` and `chunk_delay`, in seconds.

        Raises:
            BadStep: One of them is none of a step's.
        """
        named = {_FIELD_OF_KEY.get(name, name): value for name, value in keys.items()}
        try:
            return cls(**{**named, "key": key})
        except TypeError as error:
            raise BadStep(f"mock: bad directive: {', '.join(keys)}") from error

    @property
    def body(self) -> str:
        """The whole text."""
        if not self.words:
            return self.text
        return " ".join(_word(number) for number in range(self.words))

    @property
    def deltas(self) -> list[str]:
        """The text in as many pieces as asked for; an empty one is one piece."""
        text = self.body
        count = max(1, min(self.chunks, len(text)))
        size = max(1, -(-len(text) // count))
        return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def _word(number: int) -> str:
    ends_line = number % _WORDS_PER_LINE == _WORDS_PER_LINE - 1
    return f"w{number:04d}" + ("\n" if ends_line else "")


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a conversation, as far as the script needs it."""

    kind: Literal["user", "assistant", "tool"]
    #: What was said, for a user's; else empty.
    text: str = ""


@cache
def scenarios() -> Mapping[str, Mapping[str, Any]]:
    """The named steps."""
    found: dict[str, Mapping[str, Any]] = json.loads(Path(__file__).with_name("scenarios.json").read_bytes())
    return found


def steps_of(prompt: str) -> list[Step]:
    """The steps a prompt carries, in order; one that cannot be read answers with what is wrong."""
    return [
        _step(match.group(0), spelled=match.group(1), name=match.group(2))
        for match in _DIRECTIVE.finditer(prompt)
    ]


def _step(key: str, *, spelled: str | None, name: str) -> Step:
    try:
        if spelled is not None:
            return Step.parse(key, json.loads(spelled))
        if name not in scenarios():
            return Step(key=key, text=f"mock: unknown scenario {name}")
        return Step.parse(key, scenarios()[name])
    except BadStep as error:
        return Step(key=key, text=str(error))
    except json.JSONDecodeError:
        return Step(key=key, text="mock: bad directive JSON")


def next_step(history: Sequence[Entry]) -> Step:
    """The step that answers a call with this history."""
    step = _next_step(history)
    if not step.repeat_lines:
        return step
    return replace(step, text="\n".join(last_prompt(history).splitlines()[-step.repeat_lines :]))


def _next_step(history: Sequence[Entry]) -> Step:
    last_kind = next((entry.kind for entry in reversed(history) if entry.kind != "assistant"), "user")
    calls_since = 0
    for entry in reversed(history):
        if entry.kind == "assistant":
            calls_since += 1
        elif entry.kind == "user":
            steps = steps_of(entry.text)
            if steps:
                return (
                    steps[calls_since]
                    if calls_since < len(steps)
                    else Step(text="All scripted steps are done.")
                )
            if last_kind == "user":
                break
    if last_kind == "tool":
        return Step(text="Tool result received.")
    return Step(text=f"Mock reply ({len(last_prompt(history))} chars in).")


def last_prompt(history: Sequence[Entry]) -> str:
    """What the user said last; empty when nothing."""
    return next((entry.text for entry in reversed(history) if entry.kind == "user"), "")
