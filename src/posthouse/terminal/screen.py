"""What a pane shows at one moment, and what that means for somebody who wants to type."""

from dataclasses import dataclass
from typing import Literal

SurfaceState = Literal["starting", "ready", "draft", "active", "blocked", "exited", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One capture of a pane: rows with their SGR escapes, and what tmux knows beside them."""

    rows: tuple[str, ...]
    title: str
    #: Column and row, from 0.
    cursor: tuple[int, int]
    dead: bool = False
    #: A person scrolls in copy mode: tmux would eat the Enter.
    in_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a tool's screen says. The evidence names what was seen."""

    state: SurfaceState
    evidence: str
    #: The text standing in the composer; "" when it is empty, None when there is no composer.
    composer: str | None = None
    #: Which dialog would eat a prompt.
    dialog: str | None = None
