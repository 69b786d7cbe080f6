"""Expands a prompt into actions for both modes. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from posthouse.tools.scripted import directives
from posthouse.tools.scripted.directives import (
    Ask,
    Crash,
    Describe,
    Env,
    Fail,
    IgnoreSignals,
    InvalidDirective,
    Repeat,
    Retry,
    Say,
    Spawn,
    Stream,
    Think,
    UseTool,
    Wait,
    WriteStderr,
)

#: A step that needs side effects or output. The texts of all `Say`, joined, are the answer.
Action = Say | Think | Wait | UseTool | Ask | Fail | Retry | Crash | IgnoreSignals | Spawn | WriteStderr

_QUOTED_CHARS = 80
_HASH_CHARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptContext:
    """The facts that directives can query."""

    earlier_prompts: tuple[str, ...]
    role: str
    working_directory: str
    environment: Mapping[str, str]
    #: Tools need no permission.
    allows_everything: bool = False


def plan_actions(prompt: str, context: ScriptContext) -> Iterator[Action]:
    """The actions of *prompt*. Without any output, the last one is a greeting."""
    has_answer = False
    for step in directives.parse(prompt):
        for action in _expand(step, prompt, context):
            if isinstance(action, Fail):
                yield action
                return
            if isinstance(action, Say):
                starts_line = has_answer and not action.text.startswith(" ")
                yield Say("\n" + action.text) if starts_line else action
                has_answer = True
            else:
                has_answer = has_answer or isinstance(action, Ask)
                yield action
    if not has_answer:
        yield Say(greeting(prompt))


def greeting(prompt: str) -> str:
    """The answer to a prompt without output directives."""
    words = " ".join(prompt.split())
    quoted = words if len(words) <= _QUOTED_CHARS else words[: _QUOTED_CHARS - 1] + "…"
    return f"Hello! I am a scripted agent and got your prompt “{quoted}” ({len(prompt)} characters)."


def _expand(step: directives.Step, prompt: str, knowledge: ScriptContext) -> Iterator[Action]:
    if isinstance(step, Stream):
        yield from _words(step)
    elif isinstance(step, Repeat):
        yield Say("\n".join(prompt.splitlines()[-step.lines :]))
    elif isinstance(step, Describe):
        yield Say(_describe(step, knowledge))
    elif isinstance(step, Env):
        yield Say(_variable(step, knowledge.environment))
    elif isinstance(step, InvalidDirective):
        yield Say(f"Error: {step.text}")
    elif isinstance(step, UseTool):
        asks = step.needs_permission and not knowledge.allows_everything
        yield UseTool(step.command, needs_permission=asks)
    else:
        yield step


def _words(step: Stream) -> Iterator[Action]:
    for number in range(step.words):
        if number:
            yield Wait(step.every_seconds)
        yield Say(f"{' ' if number else ''}w{number:04d}")


def _describe(step: Describe, knowledge: ScriptContext) -> str:
    if step.topic == "role":
        return knowledge.role or "I have no role."
    if step.topic == "cwd":
        return knowledge.working_directory
    if not knowledge.earlier_prompts:
        return "I remember nothing."
    lines = [f"{number}. {text}" for number, text in enumerate(knowledge.earlier_prompts, 1)]
    return "I remember:\n" + "\n".join(lines)


def _variable(step: Env, environment: Mapping[str, str]) -> str:
    value = environment.get(step.name)
    if value is None:
        return f"{step.name} is not set"
    if step.hashed:
        import hashlib  # rarely asked for, and slow to load

        digest = hashlib.sha256(value.encode(errors="surrogateescape")).hexdigest()
        return f"{step.name} is set, sha256 {digest[:_HASH_CHARS]}"
    return f"{step.name}={value}"
