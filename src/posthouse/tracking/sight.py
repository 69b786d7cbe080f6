"""One look at a TUI's pane, as a value. Pure."""

from dataclasses import dataclass
from typing import Literal

from posthouse.terminal.screen import Surface


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The newest turn that the agent's own transcript shows as over."""

    submitted_at_utc: str
    outcome: Literal["success", "interrupted", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one look at a TUI's pane showed."""

    #: How far the look got: to a screen, or to what was missing.
    reach: Literal["screen", "program_ended", "no_session", "no_answer"]
    #: Why it got no further, for a person.
    detail: str = ""
    pane_id: str | None = None
    pane_pid: int | None = None
    #: What the screen means; None without one.
    surface: Surface | None = None
    #: The visible screen without its styles.
    text: str = ""
    #: A person scrolls, and keys would not reach the program.
    is_scrolled: bool = False
    #: None: there is none, or nothing tells.
    ended: Ended | None = None

    def says_the_same_as(self, other: "Sight | None") -> bool:
        """Whether both mean the same, whatever their text and composer hold."""
        return other is not None and self._meaning() == other._meaning()

    def _meaning(self) -> tuple[object, ...]:
        of_surface = None if self.surface is None else meaning_of(self.surface)
        return self.reach, self.pane_id, self.pane_pid, self.is_scrolled, self.ended, of_surface


def meaning_of(surface: "Surface") -> tuple[object, ...]:
    """What has to change on a screen before anybody is told."""
    return surface.state, surface.dialog, surface.composer is None, bool(surface.composer)
