"""Resource usage of this process. Reads /proc, so Linux only."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    cpu_seconds: float
    resident_bytes: int
    open_files: int


def of_this_process() -> Usage:
    """Current usage; CPU time since the process started."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Usage(
        cpu_seconds=used.ru_utime + used.ru_stime,
        resident_bytes=pages * os.sysconf("SC_PAGE_SIZE"),
        open_files=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names only, and a folder of the kernel's
    )
