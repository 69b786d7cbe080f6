"""What is typed, and what the terminal is like then: random, and the same again for the same seed."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

#: What the pane is like when the prompt comes: ready, at work, holding a person's draft, or scrolled.
Condition = Literal["ready", "busy", "draft", "scrolled"]
#: Most prompts meet an agent that is ready; the others must be refused, queued or steered, and say so.
_CONDITIONS: tuple[Condition, ...] = ("ready",) * 7 + ("busy", "draft", "scrolled")
_WORDS = ("please", "look", "at", "the", "parser", "and", "tell", "me", "why", "it", "drops", "lines")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One prompt."""

    #: In the prompt and nowhere else, by which it is found again.
    mark: str
    shape: str
    prompt: str
    condition: Condition


def trials(seed: int, count: int) -> Iterator[Trial]:
    """*count* prompts in random shapes and conditions."""
    source = random.Random(seed)
    for number in range(count):
        mark = f"mark{number:04d}x{source.getrandbits(32):08x}"
        shape = source.choice(list(_SHAPES))
        yield Trial(
            mark=mark,
            shape=shape,
            prompt=_SHAPES[shape](source, mark),
            condition=source.choice(_CONDITIONS),
        )


def _words(source: random.Random, count: int) -> str:
    return " ".join(source.choice(_WORDS) for _ in range(count))


def _lines(source: random.Random, count: int) -> str:
    return "\n".join(_words(source, source.randint(0, 9)) for _ in range(count))


_SHAPES: dict[str, Callable[[random.Random, str], str]] = {
    "line": lambda source, mark: f"{_words(source, 6)} {mark}",
    "short": lambda source, mark: mark,
    "lines": lambda source, mark: f"{_words(source, 3)}\n\n{_lines(source, 5)}\n{mark}",
    "many lines": lambda source, mark: f"{_lines(source, 60)}\n{mark}",
    "indented": lambda source, mark: f"def f():\n\treturn {{\n\t\t'a': 1,\n\t}}\n# {mark}",
    "unicode": lambda source, mark: f"naïve cafe\u0301 日本語 👩‍💻 ✳ ❯ {_words(source, 2)} {mark}",
    "bang": lambda source, mark: f"!touch ran {mark}",
    "spaced bang": lambda source, mark: f"  !touch ran {mark}",
    "slash": lambda source, mark: f"/nosuchcommand {mark}",
    "path": lambda source, mark: f"/etc/hosts says what? {mark}",
    "slash later": lambda source, mark: f"{_words(source, 2)}\n/clear\n{mark}",
    "backslash": lambda source, mark: f"{_words(source, 2)} {mark} \\",
    "hash": lambda source, mark: f"# {_words(source, 3)} {mark}",
    "question": lambda source, mark: f"? {mark}",
    "quotes": lambda source, mark: f'"it\'s" `$(touch ran)` ; $HOME \\n #{{x}} {mark}',
    "menu": lambda source, mark: f"❯ 1. Yes\n  2. No\n› 3. {mark}",
    "trailing newlines": lambda source, mark: f"{_words(source, 3)} {mark}\n\n\n",
    "10 KB": lambda source, mark: f"{_words(source, 2000)} {mark}",
    "100 KB": lambda source, mark: f"{_words(source, 20000)} {mark}",
}
