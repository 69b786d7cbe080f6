"""How many tests with a vendor's CLI may run at once, across the workers of a test run."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from posthouse.support import locks

#: What a CLI with its tmux server, its gateway and its tools needs at most.
_BYTES_EACH = 2 << 30
_RETRY_SECONDS = 0.05
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")


def count(cores: int, memory_bytes: int) -> int:
    """How many a machine of that size carries; at least one."""
    return max(1, min(cores, memory_bytes // _BYTES_EACH))


def of_this_machine() -> int:
    """How many this machine carries."""
    return count(len(os.sched_getaffinity(0)), _memory_bytes())


@contextmanager
def held(folder: Path, slots: int) -> Iterator[None]:
    """Wait until fewer than *slots* bodies run with the same *folder*, in any process; then run this one."""
    with ExitStack() as stack:
        while not any(_is_taken(stack, folder / f"slot-{number}.lock") for number in range(slots)):
            time.sleep(_RETRY_SECONDS)
        yield


def _is_taken(stack: ExitStack, path: Path) -> bool:
    try:
        stack.enter_context(locks.hold(path))
    except locks.LockHeld:
        return False
    return True


def _memory_bytes() -> int:
    """The machine's memory, or the smaller limit of this container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _MEMORY_LIMIT.read_text().strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdecimal() else physical
