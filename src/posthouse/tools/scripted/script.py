"""A prompt as moves that either mode can make, one after the other. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from posthouse.tools.scripted import directives
from posthouse.tools.scripted.directives import (
    Ask,
    Complain,
    Crash,
    Env,
    Fail,
    IgnoreSignals,
    Mistake,
    Repeat,
    Retry,
    Say,
    Spawn,
    Stream,
    Tell,
    Think,
    UseTool,
    Wait,
)

#: What is left of a prompt once everything that needs no machine has been worked out. The texts
#: of all `Say`, joined, are the answer.
Move = Say | Think | Wait | UseTool | Ask | Fail | Retry | Crash | IgnoreSignals | Spawn | Complain

_QUOTED_CHARS = 80
_HASH_CHARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the agent can tell when it is asked."""

    earlier_prompts: tuple[str, ...]
    role: str
    working_directory: str
    environment: Mapping[str, str]
    #: Nobody needs to be asked before a tool is used.
    allows_everything: bool = False


def moves(prompt: str, knowledge: Knowledge) -> Iterator[Move]:
    """What *prompt* asks for. Ends with a friendly word when nothing else was said."""
    spoken = False
    for step in directives.parse(prompt):
        for move in _expand(step, prompt, knowledge):
            if isinstance(move, Fail):
                yield move
                return
            if isinstance(move, Say):
                starts_line = spoken and not move.text.startswith(" ")
                yield Say("\n" + move.text) if starts_line else move
                spoken = True
            else:
                spoken = spoken or isinstance(move, Ask)
                yield move
    if not spoken:
        yield Say(greeting(prompt))


def greeting(prompt: str) -> str:
    """The answer to a prompt that asks for nothing in particular."""
    words = " ".join(prompt.split())
    quoted = words if len(words) <= _QUOTED_CHARS else words[: _QUOTED_CHARS - 1] + "…"
    return f"Hello! I am a scripted agent and got your prompt “{quoted}” ({len(prompt)} characters)."


def _expand(step: directives.Step, prompt: str, knowledge: Knowledge) -> Iterator[Move]:
    if isinstance(step, Stream):
        yield from _words(step)
    elif isinstance(step, Repeat):
        yield Say("\n".join(prompt.splitlines()[-step.lines :]))
    elif isinstance(step, Tell):
        yield Say(_told(step, knowledge))
    elif isinstance(step, Env):
        yield Say(_variable(step, knowledge.environment))
    elif isinstance(step, Mistake):
        yield Say(f"Error: {step.text}")
    elif isinstance(step, UseTool):
        asks = step.needs_permission and not knowledge.allows_everything
        yield UseTool(step.command, needs_permission=asks)
    else:
        yield step


def _words(step: Stream) -> Iterator[Move]:
    for number in range(step.words):
        if number:
            yield Wait(step.every_seconds)
        yield Say(f"{' ' if number else ''}w{number:04d}")


def _told(step: Tell, knowledge: Knowledge) -> str:
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
