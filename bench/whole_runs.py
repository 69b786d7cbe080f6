"""Whole runs of ./test in clean clones, some of them beside busy loops: does every one of them pass?

    python bench/whole_runs.py [--count 10] [--loaded 5] [--results FILE] [--logs FOLDER] [--evidence FILE]

A run is `./test` in a clone of HEAD with an empty HOME. Python packages come from pip's cache, the agent CLIs
from `POSTHOUSE_CACHE`; without it, from a folder that all runs share. Every second run is loaded, until there
are enough of those. With --results, a bench that was interrupted continues after its last finished run;
--logs keeps the output of each run. Exits 1 when a run failed.
"""

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from posthouse.contracts import strict
from posthouse.testing import evidence, leftovers

_ROOT = Path(__file__).resolve().parents[1]
#: Its marks in docs/evidence.md.
_TABLE = "whole runs"
_COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
_SECOND_TRIES = re.compile(r"^(\d+) of at most \d+ second tries$", re.MULTILINE)


class Run(strict.Strict, frozen=True):
    """How one whole run ended."""

    commit: str
    busy_loops: int
    exit_code: int
    passed: int
    failed: int
    skipped: int
    second_tries: int
    minutes: float


def main() -> int:
    """Run what is missing, print the table, and put it into the evidence."""
    given = _arguments()
    runs = _known(given.results)
    temporary = tempfile.TemporaryDirectory(prefix="ph-", dir=leftovers.homes(), ignore_cleanup_errors=True)
    with temporary as folder:
        cache = Path(os.environ.get("POSTHOUSE_CACHE") or Path(folder, "cache"))
        for number in range(len(runs) + 1, given.count + 1):
            is_loaded = number % 2 == 0 and number // 2 <= given.loaded
            run = _whole_run(Path(folder, str(number)), cache, given.logs, os.cpu_count() if is_loaded else 0)
            runs.append(run)
            print(f"run {number}: {run}", file=sys.stderr, flush=True)
            if given.results is not None:
                with given.results.open("ab") as stream:
                    stream.write(msgspec.json.encode(run) + b"\n")
    print(_table(runs))
    if given.evidence is not None:
        evidence.replace_table(given.evidence, _TABLE, _table(runs))
    return 1 if any(run.exit_code or run.failed for run in runs) else 0


def _whole_run(folder: Path, cache: Path, logs: Path | None, busy_loops: int | None) -> Run:
    home = folder / "home"
    home.mkdir(parents=True)
    clone = folder / "clone"
    subprocess.run(["git", "clone", "-q", _ROOT, clone], check=True)
    commit = subprocess.check_output(["git", "-C", clone, "rev-parse", "--short", "HEAD"], text=True)
    log = (logs or folder) / f"run-{folder.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with _busy(busy_loops or 0), log.open("wb") as output:
        done = subprocess.run(
            ["./test"],
            cwd=clone,
            env=_environment(home, cache),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    minutes = (time.monotonic() - begun) / 60
    printed = log.read_text(errors="replace")
    counts = _COUNTS.findall(printed)
    passed, failed, skipped = map(int, counts[-1]) if counts else (0, 0, 0)
    tries = _SECOND_TRIES.findall(printed)
    if done.returncode == 0:
        subprocess.run(["rm", "-rf", folder], check=False)
    return Run(
        commit=commit.strip(),
        busy_loops=busy_loops or 0,
        exit_code=done.returncode,
        passed=passed,
        failed=failed,
        skipped=skipped,
        second_tries=int(tries[-1]) if tries else 0,
        minutes=round(minutes, 1),
    )


def _environment(home: Path, cache: Path) -> dict[str, str]:
    """What a newcomer has, and the caches."""
    pip_cache = os.environ.get("PIP_CACHE_DIR") or str(Path.home() / ".cache" / "pip")
    left_out = ("VIRTUAL_ENV", "TMUX", "PYTHONPATH", "TMPDIR", "TMUX_TMPDIR", leftovers.HOMES_VARIABLE)
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    kept = {name: value for name, value in kept.items() if not name.startswith("XDG_")}
    return kept | {"HOME": str(home), "POSTHOUSE_CACHE": str(cache), "PIP_CACHE_DIR": pip_cache}


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """*count* processes that never sleep."""
    loops = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _spin() -> None:
    while True:
        pass


def _known(path: Path | None) -> list[Run]:
    if path is None or not path.exists():
        return []
    return [strict.decode(line, Run) for line in path.read_bytes().splitlines()]


def _table(runs: list[Run]) -> str:
    head = ["run", "commit", "busy loops", "passed", "failed", "skipped", "second tries", "minutes"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for number, run in enumerate(runs, 1):
        cells = [number, run.commit, run.busy_loops, run.passed, run.failed, run.skipped]
        lines.append(f"| {' | '.join(map(str, [*cells, run.second_tries, run.minutes]))} |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="whole runs of ./test")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--loaded", type=int, default=5, help="so many of them beside busy loops")
    parser.add_argument("--results", type=Path, help="where results are kept, and found again")
    parser.add_argument("--logs", type=Path, help="a folder for what each run prints")
    parser.add_argument("--evidence", type=Path, help="the page whose table is renewed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
