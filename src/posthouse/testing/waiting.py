"""Waiting in tests: for the very condition that is asserted, and as long as a loaded machine may need."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

#: Bounds a hang and nothing else: a test that passes does not wait for it.
LIMIT_SECONDS = 180.0
_POLL_SECONDS = 0.02

#: What describes the state of things around a test, for the message of a wait in vain.
_witnesses: list[Callable[[], str]] = []


class NeverHappened(AssertionError):
    """What a test waited for did not come in time: not a wrong answer, but none.

    The message ends with what every witness of that moment says.
    """

    def __init__(self, words: str) -> None:
        super().__init__("\n\n".join([words, *map(_statement, _witnesses)]))


@contextmanager
def witness(describe: Callable[[], str]) -> Iterator[None]:
    """Have every `NeverHappened` in the body repeat what *describe* returns then."""
    _witnesses.append(describe)
    try:
        yield
    finally:
        _witnesses.remove(describe)


def _statement(describe: Callable[[], str]) -> str:
    try:
        return describe()
    except Exception as error:  # noqa: BLE001 - a witness must not hide what was waited for
        return f"{describe}: {error!r}"


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


@asynccontextmanager
async def limited(*, seconds: float = LIMIT_SECONDS) -> AsyncIterator[None]:
    """A body that may take *seconds*.

    Raises:
        NeverHappened: It took longer, or something in it raised TimeoutError.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise NeverHappened(f"not within {seconds:g} s") from error
