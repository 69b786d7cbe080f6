"""What the calls of one server share while they are answered: queued steps, failures so far, holds."""

import threading
from collections import Counter

from posthouse.testing.model_api.script import Step

#: A held answer goes on by itself after this.
HOLD_LIMIT_SECONDS = 600.0


class Closed(ConnectionError):
    """The server is closing; the answer ends where it is."""


class Stage:
    """Any thread may use it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queued: list[Step] = []
        self._failures: Counter[str] = Counter()
        self._releases = 0
        self._held = 0
        self._is_closed = False

    def queue(self, step: Step) -> None:
        """Have *step* answer the next main call, whatever its prompt says."""
        with self._changed:
            self._queued.append(step)

    def take_queued(self) -> Step | None:
        with self._changed:
            return self._queued.pop(0) if self._queued else None

    def should_fail(self, step: Step) -> bool:
        """Whether this call of *step* fails; counts it, and starts over once it has answered."""
        if step.status is None or step.times is None:
            return step.status is not None
        with self._changed:
            self._failures[step.key] += 1
            if self._failures[step.key] <= step.times:
                return True
            del self._failures[step.key]
            return False

    @property
    def releases(self) -> int:
        """How many there have been."""
        with self._changed:
            return self._releases

    @property
    def held(self) -> int:
        """How many answers wait for a release now."""
        with self._changed:
            return self._held

    def release(self) -> None:
        """Let every answer that has begun go on, whether it is held yet or will be."""
        with self._changed:
            self._releases += 1
            self._changed.notify_all()

    def wait_for_release(self, *, after: int) -> None:
        """Wait until there have been more releases than *after*."""
        with self._changed:
            self._held += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_closed or self._releases > after, HOLD_LIMIT_SECONDS)
            self._held -= 1
            self._refuse_when_closed()

    def wait_until_held(self, seconds: float) -> bool:
        """Whether an answer was held within that time: one that has not begun hears of no release."""
        with self._changed:
            return self._changed.wait_for(lambda: self._held > 0, seconds)

    def pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, seconds)
            self._refuse_when_closed()

    def reset(self) -> None:
        """Forget what is queued and what has failed."""
        with self._changed:
            self._queued.clear()
            self._failures.clear()

    def close(self) -> None:
        """End every wait, now and later, by `Closed`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _refuse_when_closed(self) -> None:
        if self._is_closed:
            raise Closed("the model API is closing")
