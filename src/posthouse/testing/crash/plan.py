"""Which deaths are tried: every step that was ever recorded, at its first times, and moments between steps.

`steps.json` is what `bench/crash.py --record` wrote: how often each victim reaches each step.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from posthouse.contracts import strict
from posthouse.testing.crash.trial import ANY_MOMENT, Steps, Trial

RECORD = Path(__file__).with_name("steps.json")
#: Later times of a step are like earlier ones.
_MOST_TIMES = 3
#: Every question commits, so that more of these differ from each other.
_MOST_COMMITS = 8
#: One trial in so many comes at a moment between steps.
_MOMENTS_IN = 5
_LONGEST_MILLISECONDS = 700
#: Where a kill leaves what it leaves just before the renaming of the same file, or just after it.
_ALIKE = ("write ", "fsync ")
#: What takes seconds: a process of its own each time, or a poll that has to come.
_SLOW = ("attach", "detach", "mail")


class Record(strict.Strict, frozen=True, kw_only=True):
    """`steps.json`."""

    rows: list[Steps]


def recorded() -> list[Steps]:
    return strict.decode(RECORD.read_bytes(), Record).rows


def matrix(rows: list[Steps]) -> list[Trial]:
    """Each step of each row once for each of its first times."""
    return [
        Trial(scenario=row.scenario, agent=row.agent, victim=row.victim, step=step, time=time)
        for row in rows
        for step, count in sorted(row.steps.items())
        for time in range(1, min(count, _MOST_COMMITS if "commit" in step else _MOST_TIMES) + 1)
    ]


def trials(rows: list[Steps], count: int, seed: int) -> list[Trial]:
    """*count* trials in the order in which they are played; the same for the same seed."""
    chance = random.Random(seed)
    steps = _endlessly(matrix(rows), chance)
    moments = _moments(rows, chance)
    return [next(moments if number % _MOMENTS_IN == 0 else steps) for number in range(count)]


def chosen(rows: list[Steps], count: int, seed: int) -> list[Trial]:
    """*count* trials that together visit every step that `is_its_own`, quick ones rather than slow ones."""
    chance = random.Random(seed)
    everything = matrix(rows)
    chance.shuffle(everything)
    everything.sort(key=lambda trial: (trial.scenario in _SLOW, trial.time > 1))
    first: dict[tuple[str, str], Trial] = {}
    for trial in everything:
        if is_its_own(trial.step):
            first.setdefault((trial.victim, trial.step), trial)
    others = [one for one in everything if one.scenario not in _SLOW and one not in first.values()]
    moments = _moments(rows, chance)
    left = count - len(first)
    more = [next(moments) for _ in range(left // 2)] + chance.sample(others, left - left // 2)
    return [*first.values(), *more]


def is_its_own(step: str) -> bool:
    """Whether a kill there leaves something that a kill at no other step leaves."""
    return not step.startswith(_ALIKE)


def _endlessly(everything: list[Trial], chance: random.Random) -> Iterator[Trial]:
    """All of them in any order, then all of them in another."""
    while True:
        yield from chance.sample(everything, len(everything))


def _moments(rows: list[Steps], chance: random.Random) -> Iterator[Trial]:
    at_work = [row for row in rows if row.victim == "gateway" and row.scenario != "start"]
    while True:
        row = chance.choice(at_work)
        yield Trial(
            scenario=row.scenario,
            agent=row.agent,
            victim="gateway",
            step=ANY_MOMENT,
            time=chance.randint(1, _LONGEST_MILLISECONDS),
        )
