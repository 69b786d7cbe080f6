"""Workers: processes that play trials side by side, each with agents of its own."""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from posthouse.contracts import strict
from posthouse.testing.crash.plan import Record
from posthouse.testing.crash.trial import Result, Steps, Trial


def play(trials: Sequence[Trial], jobs: int, tell: Callable[[int, Result], None]) -> None:
    """Play *trials* on so many workers at once; *tell* hears the number of each and its result.

    Raises:
        RuntimeError: A worker ended too early; the message has its last words.
    """
    waiting = list(enumerate(trials))
    one_at_a_time = threading.Lock()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="ph-crash-", ignore_cleanup_errors=True) as folder:
                _feed(Path(folder), waiting, one_at_a_time, tell)
        except BaseException as error:  # told to whoever started us, in its own thread
            failures.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def record() -> Record:
    """How often each step is reached, in every scenario."""
    with tempfile.TemporaryDirectory(prefix="ph-crash-", ignore_cleanup_errors=True) as folder:
        done = subprocess.run([*_command(Path(folder)), "--record"], stdout=subprocess.PIPE, check=True)
    return Record(rows=[strict.decode(line, Steps) for line in done.stdout.splitlines()])


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "posthouse.testing.crash", "--folder", str(folder)]


def _feed(
    folder: Path,
    waiting: list[tuple[int, Trial]],
    one_at_a_time: threading.Lock,
    tell: Callable[[int, Result], None],
) -> None:
    said = folder / "worker.log"
    with (
        said.open("wb") as errors,
        subprocess.Popen(
            _command(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as worker,
    ):
        assert worker.stdin is not None
        assert worker.stdout is not None
        while True:
            with one_at_a_time:
                if not waiting:
                    break
                number, trial = waiting.pop(0)
            worker.stdin.write(msgspec.json.encode(trial) + b"\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
            if not line:
                worker.wait()
                raise RuntimeError(f"a worker died at {trial}: {said.read_text()[-2000:]}")
            with one_at_a_time:
                tell(number, strict.decode(line, Result))
        worker.stdin.close()
        worker.wait()
