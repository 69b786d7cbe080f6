"""A scripted agent that works until its test lets it go on, however slow either of them is."""

import shlex
from pathlib import Path


class Gate:
    """One wait, closed until `open`."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self._path = folder / name

    @property
    def closed(self) -> str:
        """What the prompt says, for the agent to wait there."""
        return f"[[tool until test -e {shlex.quote(str(self._path))}; do sleep 0.05; done]]"

    def open(self) -> None:
        self._path.touch()
