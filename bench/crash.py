"""Everything on the way of a request killed by name, thousands of times, and held against the agent's log.

    python bench/crash.py [--count 2000] [--seed 1] [--jobs 2] [--results FILE] [--evidence FILE]
    python bench/crash.py --record        # when there are new steps

A trial kills a gateway, the bridge of a headless turn, or whoever attaches or detaches, with SIGKILL at a
named step or at any moment between two, while prompts come by the queue, directly, by a reminder, under an
idempotency key, or are interrupted or cancelled. The next gateway takes over; when all is at rest, what was
answered and what is on disk is compared with what the scripted agent says it got. With --results a broken-off
run goes on where it was. Exits 1 when anything was lost, carried out twice, or said and not true.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

from posthouse.contracts import strict
from posthouse.support import files
from posthouse.testing import evidence, leftovers
from posthouse.testing.crash import plan, working
from posthouse.testing.crash.trial import VERDICTS, WRONG, Result

#: Its marks in docs/evidence.md.
_TABLE = "crash matrix"


def main() -> int:
    """Play, print the table, and put it into the evidence; 1 when something went wrong."""
    given = _arguments()
    if given.record:
        plan.RECORD.write_bytes(files.encode_json(strict.plain(working.record())))
        return 0
    results = _Results(given.results, given.count)
    trials = plan.trials(plan.recorded(), given.count, given.seed)
    left = [number for number in range(given.count) if number not in results.known]
    working.play(
        [trials[number] for number in left],
        given.jobs,
        lambda place, result: results.add(left[place], result),
    )
    told = table(list(results.known.values()), given.seed)
    print(told)
    if given.evidence is not None:
        evidence.replace_table(given.evidence, _TABLE, told)
    wrong = [note for result in results.known.values() if _is_wrong(result) for note in result.notes]
    for note in wrong:
        print(note, file=sys.stderr)
    return 1 if wrong else 0


class _Results:
    """What is known so far, also on disk when a file is given."""

    def __init__(self, path: Path | None, count: int) -> None:
        self._path = path
        self._count = count
        self._begun = time.monotonic()
        self.known: dict[int, Result] = {}
        if path is not None and path.exists():
            for line in path.read_bytes().splitlines():
                number, _, result = line.partition(b" ")
                self.known[int(number)] = strict.decode(result, Result)

    def add(self, number: int, result: Result) -> None:
        self.known[number] = result
        if self._path is not None:
            with self._path.open("ab") as stream:
                stream.write(b"%d %s\n" % (number, msgspec.json.encode(result)))
        wrong = sum(map(_is_wrong, self.known.values()))
        spent = time.monotonic() - self._begun
        print(f"\r{len(self.known)}/{self._count}, {wrong} wrong, {spent:.0f} s", end="", file=sys.stderr)


def _is_wrong(result: Result) -> bool:
    return any(verdict in WRONG for verdict in result.verdicts)


def table(results: list[Result], seed: int) -> str:
    """The matrix: each step, how often somebody was killed there, and what became of the prompts."""
    died = sum(result.died_there for result in results)
    total = Counter(verdict for result in results for verdict in result.verdicts)
    head = ["victim", "step", "runs", "killed there", *VERDICTS]
    verdicts = ", ".join(f"{total[verdict]} {verdict}" for verdict in VERDICTS)
    lines = [
        f"{len(results)} runs (seed {seed}), {died} of them killed at the step; "
        f"{sum(total.values())} prompts: {verdicts}.",
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
    ]
    places = sorted({(result.trial.victim, result.trial.step) for result in results})
    for victim, step in places:
        here = [one for one in results if (one.trial.victim, one.trial.step) == (victim, step)]
        counts = Counter(verdict for one in here for verdict in one.verdicts)
        killed = sum(one.died_there for one in here)
        cells = [victim, step, len(here), killed, *(counts[verdict] for verdict in VERDICTS)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the crash matrix")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="workers side by side")
    parser.add_argument("--results", type=Path, help="where results are kept, and found again")
    parser.add_argument("--evidence", type=Path, help="the page whose table is renewed")
    parser.add_argument("--record", action="store_true", help="write down anew which steps there are")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))
