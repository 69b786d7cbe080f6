"""Starts a host again whenever it dies, until it ends by itself or is told to."""

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType

from posthouse.contracts import names

#: A host that refused to start, as its exit code says; another attempt would be refused as well.
REFUSED = 1
#: One that lived so long did not die of its start: the next one is started at once.
_LONG_SECONDS = 10.0
_FIRST_DELAY_SECONDS = 0.2
_LAST_DELAY_SECONDS = 30.0


def keep(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run *command* until it ends by itself, starting it again when it is killed or crashes; its exit code.

    SIGTERM and Ctrl-C are passed on, and end it.
    """
    # The fuse of a crash test is for the first life; the next is the one that is looked at.
    later = {name: value for name, value in environment.items() if name != names.CRASH_AT}
    delay, surroundings = _FIRST_DELAY_SECONDS, dict(environment)
    while True:
        begun = time.monotonic()
        code, is_told_to_end = _live(command, surroundings)
        if is_told_to_end or code in (0, REFUSED):
            return max(code, 0)
        delay = 0.0 if time.monotonic() - begun > _LONG_SECONDS else delay
        sys.stderr.write(f"gateway host: it died ({code}); starting it again in {delay:g} s\n")
        time.sleep(delay)
        delay, surroundings = min(max(delay, _FIRST_DELAY_SECONDS) * 2, _LAST_DELAY_SECONDS), later


def _live(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bool]:
    """Run it once: its exit code, and whether we were told to end it."""
    process = subprocess.Popen(list(command), env=dict(environment))
    told = False

    def pass_on(number: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        process.send_signal(signal.SIGTERM)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return process.wait(), told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
