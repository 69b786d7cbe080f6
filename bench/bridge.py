"""What the bridge adds to a headless turn: the bare program against the same program through the bridge.

Both are run in turn, so that a busy moment hits both. Promise: at most 100 ms more, median of 20, idle
machine. `python -I -S -c pass` is shown beside it, because most of the difference is one more Python.

    python bench/bridge.py [--runs 20]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from posthouse.support import files
from posthouse.testing import leftovers
from posthouse.turns import runner
from posthouse.turns.folder import Folder
from posthouse.turns.turn_order import Order

_PROGRAM = ("/bin/sh", "-c", """echo '{"type":"result","subtype":"success","result":"ok"}'""")
_LIMIT_SECONDS = 0.1


def main() -> int:
    """Print the medians; 1 when the bridge costs more than it may."""
    parser = argparse.ArgumentParser(description="what the bridge adds to a headless turn")
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="posthouse-bench-") as name:
        root = Path(name)
        measured = _interleaved(
            {
                "python -I -S -c pass": lambda _: (sys.executable, "-I", "-S", "-c", "pass"),
                "bare program": lambda _: _PROGRAM,
                "through the bridge": lambda run: runner.bridge_argv(_ordered(root, run)),
            },
            runs,
        )
    return _report(measured, runs)


def _ordered(root: Path, run: int) -> Path:
    order = Order(
        turn_id=f"turn-{run:012x}",
        turn_index=run,
        tool="scripted",
        argv=_PROGRAM,
        working_directory=str(root),
    )
    folder = files.private_folder(root / order.turn_id)
    files.write_json(Folder(folder).order, order.to_record(), durable=False)
    return folder


def _interleaved(variants: dict[str, Callable[[int], Sequence[str]]], runs: int) -> dict[str, list[float]]:
    measured: dict[str, list[float]] = {name: [] for name in variants}
    for run in range(runs + 1):
        for name, command in variants.items():
            argv = command(run)
            begun = time.perf_counter()
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
            measured[name].append(time.perf_counter() - begun)
    # The first of each warms the caches.
    return {name: times[1:] for name, times in measured.items()}


def _report(measured: dict[str, list[float]], runs: int) -> int:
    medians = {name: statistics.median(times) for name, times in measured.items()}
    for name, seconds in medians.items():
        print(f"{name:<24}{seconds * 1000:8.1f} ms   (fastest {min(measured[name]) * 1000:.1f})")
    bare, bridged = medians["bare program"], medians["through the bridge"]
    added = bridged - bare
    print(f"added by the bridge     {added * 1000:8.1f} ms   ({bridged / bare:.1f} times the bare program)")
    print(f"median of {runs}, load {os.getloadavg()[0]:.1f}; may be at most {_LIMIT_SECONDS * 1000:.0f} ms")
    return int(added > _LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))
