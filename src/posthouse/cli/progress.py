"""Progress output of slow commands."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from posthouse.cli.output import write_stderr

#: Delay before progress output.
DELAY_SECONDS = 4.0


@contextmanager
def delayed_message(message: str) -> Iterator[None]:
    """Write *message* to stderr if the body takes longer than the delay. Only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    timer = threading.Timer(DELAY_SECONDS, write_stderr, (message,))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
