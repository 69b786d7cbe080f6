"""What is known of a TUI at one moment: its pane, and what its hooks and its transcript said last. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from posthouse.terminal.screen import Surface
from posthouse.tools.tool import Ending, Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The newest turn that the agent's own transcript shows as over."""

    submitted_at_utc: str
    outcome: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The newest report of a hook that says something about a turn."""

    meaning: Meaning
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one look at a TUI's pane showed, and what else was known then."""

    #: How far the look got: to a screen, or to what was missing.
    reach: Literal["screen", "program_ended", "no_session", "no_answer"]
    #: Why it got no further, for a person.
    detail: str = ""
    pane_id: str | None = None
    pane_pid: int | None = None
    #: Programs of the pane that bear the tool's name.
    process_names: tuple[str, ...] = ()
    #: What the screen means; None without one.
    surface: Surface | None = None
    #: The visible screen without its styles.
    text: str = ""
    #: A person scrolls, and keys would not reach the program.
    is_scrolled: bool = False
    #: When the program last wrote to its terminal; None: not since it is watched.
    output_at: datetime | None = None
    #: None: no hook has reported in, or there are none.
    heard: Heard | None = None
    #: None: there is none, or nothing tells.
    ended: Ended | None = None
    #: When the prompt was submitted whose end the transcript does not show; None: there is none.
    running_since_utc: str | None = None

    def says_the_same_as(self, other: "Sight | None") -> bool:
        """Whether both mean the same, whatever their text and composer hold."""
        return other is not None and self._meaning() == other._meaning()

    def _meaning(self) -> tuple[object, ...]:
        of_surface = None if self.surface is None else meaning_of(self.surface)
        of_turn = self.heard, self.ended, self.running_since_utc
        return self.reach, self.pane_id, self.pane_pid, self.is_scrolled, of_turn, of_surface


def meaning_of(surface: "Surface") -> tuple[object, ...]:
    """What has to change on a screen before anybody is told. A retry counts its seconds, so no detail."""
    return (
        surface.state,
        surface.dialog,
        surface.choices,
        surface.composer is None,
        bool(surface.composer),
        surface.outcome,
        surface.error_kind,
        bool(surface.detail),
        surface.resets,
        surface.chat_context,
        surface.chat_diagnostic,
        surface.title,
    )
