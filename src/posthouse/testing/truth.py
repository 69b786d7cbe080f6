"""Reading the scripted agent's truth log: what it really received, not what anybody claims."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posthouse.testing.waiting import LIMIT_SECONDS, wait_for


@dataclass(frozen=True, slots=True)
class TruthLog:
    """One truth log. Reads the file anew at every call; a missing one is empty."""

    path: Path

    def events(self, *names: str) -> list[Mapping[str, Any]]:
        """The events called one of *names*, oldest first; all of them when none is named."""
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        found: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
        return [event for event in found if not names or event["event"] in names]

    def texts(self, *names: str) -> list[str]:
        """The texts of the events called one of *names*."""
        return [event["text"] for event in self.events(*names)]

    def prompts(self) -> list[str]:
        """Every prompt the agent took, exactly as it took it."""
        return self.texts("prompt")

    def answers(self) -> list[str]:
        return self.texts("answer")

    def interrupts(self) -> int:
        return len(self.events("interrupt"))

    def wait(self, condition: Callable[["TruthLog"], bool], *, seconds: float = LIMIT_SECONDS) -> "TruthLog":
        """Return once *condition* holds.

        Raises:
            NeverHappened: It did not within *seconds*; the message shows the end of the log.
        """
        wait_for(
            lambda: condition(self),
            seconds=seconds,
            told=lambda: f"the log ends with {self.events()[-8:]}",
        )
        return self
