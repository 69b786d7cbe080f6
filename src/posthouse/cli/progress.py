"""Words for a person whom a command keeps waiting."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from posthouse.cli.output import complain

#: Who sees nothing for so long begins to wonder.
WONDER_SECONDS = 4.0


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Say *words* on stderr to a person whom the body keeps waiting; a program hears nothing."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    wondering = threading.Timer(WONDER_SECONDS, complain, (words,))
    wondering.start()
    try:
        yield
    finally:
        wondering.cancel()
        wondering.join()
