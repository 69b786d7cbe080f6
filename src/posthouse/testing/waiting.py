"""Waiting in tests: for the very condition that is asserted, and as long as a loaded machine may need."""

import time
from collections.abc import Callable

#: Bounds a hang and nothing else: a test that passes does not wait for it.
LIMIT_SECONDS = 180.0
_POLL_SECONDS = 0.02


class NeverHappened(AssertionError):
    """What a test waited for did not come in time: not a wrong answer, but none."""


def wait_for(
    is_true: Callable[[], bool],
    *,
    seconds: float = LIMIT_SECONDS,
    told: Callable[[], str] = lambda: "it never became true",
) -> None:
    """Return once the condition holds.

    Raises:
        NeverHappened: It did not within *seconds*; *told* says how things stood then.
    """
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise NeverHappened(f"not within {seconds:g} s: {told()}")
        time.sleep(_POLL_SECONDS)
