"""Parses the directives in a prompt for the scripted agent. Pure.

A directive is in double brackets, anywhere in the prompt: `[[wait 2]] [[say done]]`. Directives run in
order; the text around them is ignored.

    say TEXT                      wait SECONDS
    stream N words every SECONDS  think TEXT
    tool COMMAND                  run it with sh, as a tool call
    permission [COMMAND]          ask first; then run it
    ask QUESTION | CHOICE | …     a dialog with choices
    fail 400|overloaded|context   end with that error
    fail limit SECONDS            end at a usage limit that lasts so long
    retry N                       N failed attempts before going on
    crash [CODE|SIGNAL]           die at once (default: SIGKILL)
    ignore signals                from here on, only SIGKILL ends it
    spawn SECONDS                 leave a process running
    recall · role · cwd           earlier prompts, the role, the working directory
    repeat N                      the last N lines of the prompt, as they stand
    env NAME · secret NAME        its value; whether it is set, and the start of its SHA-256
    stderr TEXT
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

_DIRECTIVE = re.compile(r"\[\[(.*?)\]\](?!\])", re.DOTALL)
_STREAM = re.compile(r"(\d+)(?: words?)?(?: every (\d+(?:\.\d+)?))?\Z")
_MAX_STEPS = 100
_MAX_SECONDS = 86_400.0
_MAX_WORDS = 20_000
_MAX_RETRIES = 10
_CHOICES = ("Yes", "No")
_FAILURES = ("400", "overloaded", "context", "limit")

Failure = Literal["400", "overloaded", "context", "limit"]
Topic = Literal["recall", "role", "cwd"]


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Stream:
    words: int
    every_seconds: float


@dataclass(frozen=True, slots=True)
class UseTool:
    command: str
    #: The user must allow it first.
    needs_permission: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    question: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fail:
    kind: Failure
    #: How long a usage limit lasts.
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Retry:
    attempts: int


@dataclass(frozen=True, slots=True)
class Crash:
    #: An exit code, or the name of a signal such as `SIGKILL`.
    how: int | str


@dataclass(frozen=True, slots=True)
class IgnoreSignals:
    pass


@dataclass(frozen=True, slots=True)
class Spawn:
    seconds: float


@dataclass(frozen=True, slots=True)
class Describe:
    """Answer with a fact about the run."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class Repeat:
    lines: int


@dataclass(frozen=True, slots=True)
class Env:
    name: str
    hashed: bool


@dataclass(frozen=True, slots=True)
class WriteStderr:
    text: str


@dataclass(frozen=True, slots=True)
class InvalidDirective:
    """An invalid directive; *text* is the error message in the answer."""

    text: str


Step = (
    Say
    | Think
    | Wait
    | Stream
    | UseTool
    | Ask
    | Fail
    | Retry
    | Crash
    | IgnoreSignals
    | Spawn
    | Describe
    | Repeat
    | Env
    | WriteStderr
    | InvalidDirective
)


def parse(prompt: str) -> tuple[Step, ...]:
    """The steps of *prompt*, in order; empty when it has no directives."""
    found = [match.group(1).strip() for match in _DIRECTIVE.finditer(prompt)]
    steps = tuple(_step(text) for text in found[:_MAX_STEPS])
    if len(found) > _MAX_STEPS:
        return (
            *steps,
            InvalidDirective(f"only the first {_MAX_STEPS} directives of a prompt are carried out"),
        )
    return steps


def _step(text: str) -> Step:
    word, _, argument = text.partition(" ")
    reader = _READERS.get(word)
    if reader is None:
        return InvalidDirective(f"unknown directive [[{text}]]; there is {', '.join(sorted(_READERS))}")
    try:
        return reader(argument.strip())
    except ValueError as error:
        return InvalidDirective(f"can't follow [[{text}]]: {error}")


def _text(text: str) -> str:
    if not text:
        raise ValueError("it needs a text")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError("it needs a number of seconds") from None
    if not 0 <= seconds <= _MAX_SECONDS:
        raise ValueError(f"seconds are between 0 and {_MAX_SECONDS:g}")
    return seconds


def _stream(text: str) -> Stream:
    match = _STREAM.match(text)
    if match is None:
        raise ValueError("write it as [[stream 5 words every 0.1]]")
    words = int(match.group(1))
    if words > _MAX_WORDS:
        raise ValueError(f"at most {_MAX_WORDS} words")
    return Stream(words, _seconds(match.group(2) or "0.1"))


def _ask(text: str) -> Ask:
    question, *choices = (part.strip() for part in text.split("|"))
    return Ask(_text(question), tuple(choice for choice in choices if choice) or _CHOICES)


def _fail(text: str) -> Fail:
    word, _, seconds = text.partition(" ")
    for kind in _FAILURES:
        if word == kind and (kind == "limit") == bool(seconds):
            return Fail(kind, _seconds(seconds) if seconds else 0.0)  # type: ignore[arg-type]  # a tuple of literals is a tuple of str
    raise ValueError(f"it fails with {', '.join(_FAILURES)}")


def _retry(text: str) -> Retry:
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_RETRIES:
        raise ValueError(f"it needs a number from 1 to {_MAX_RETRIES}")
    return Retry(int(text))


def _repeat(text: str) -> Repeat:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("it needs a number of lines")
    return Repeat(int(text))


def _crash(text: str) -> Crash:
    if text.isdecimal():
        return Crash(int(text) % 256)
    name = text.upper().removeprefix("SIG") or "KILL"
    if not name.isalnum():
        raise ValueError("it needs an exit code or the name of a signal")
    return Crash(f"SIG{name}")


def _ignore(text: str) -> IgnoreSignals:
    if text != "signals":
        raise ValueError("write it as [[ignore signals]]")
    return IgnoreSignals()


_READERS: dict[str, Callable[[str], Step]] = {
    "say": lambda text: Say(_text(text)),
    "think": lambda text: Think(_text(text)),
    "wait": lambda text: Wait(_seconds(text)),
    "stream": _stream,
    "tool": lambda text: UseTool(_text(text)),
    "permission": lambda text: UseTool(text or "echo allowed", needs_permission=True),
    "ask": _ask,
    "fail": _fail,
    "retry": _retry,
    "crash": _crash,
    "ignore": _ignore,
    "spawn": lambda text: Spawn(_seconds(text)),
    "recall": lambda _: Describe("recall"),
    "role": lambda _: Describe("role"),
    "cwd": lambda _: Describe("cwd"),
    "repeat": _repeat,
    "env": lambda text: Env(_text(text), hashed=False),
    "secret": lambda text: Env(_text(text), hashed=True),
    "stderr": lambda text: WriteStderr(_text(text)),
}
