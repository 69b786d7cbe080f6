"""One observation of a TUI: its pane, and the latest reports of its hooks and transcript. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from posthouse.terminal.screen import Surface
from posthouse.tools.tool import FinalOutcome, TurnSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTurn:
    """The newest ended turn in the agent's transcript."""

    submitted_at_utc: str
    outcome: FinalOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class HookReport:
    """The newest report of a hook about a turn."""

    meaning: TurnSignal
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The state of a TUI's pane, and what else was known at that time."""

    #: The result of the probe: a screen, or what was missing.
    reach: Literal["screen", "program_ended", "no_session", "no_answer"]
    #: The reason why there is no screen, for a person.
    detail: str = ""
    pane_id: str | None = None
    pane_pid: int | None = None
    #: Programs of the pane with the tool's name.
    process_names: tuple[str, ...] = ()
    #: The interpreted screen; None without one.
    surface: Surface | None = None
    #: The visible screen without its styles.
    text: str = ""
    #: The pane is in copy mode, so keys would not reach the program.
    is_scrolled: bool = False
    #: When the program last wrote to its terminal; None: not since watching began.
    output_at: datetime | None = None
    #: None: no hook has reported, or there are none.
    hook_report: HookReport | None = None
    #: None: there is none, or it is unknown.
    ended_turn: EndedTurn | None = None
    #: When the prompt of the turn that still runs in the transcript was submitted; None: no turn runs.
    running_since_utc: str | None = None

    def is_equivalent_to(self, other: "Observation | None") -> bool:
        """Whether both have the same meaning, apart from the text of screen and composer."""
        return other is not None and self._meaning() == other._meaning()

    def _meaning(self) -> tuple[object, ...]:
        of_surface = None if self.surface is None else comparison_key(self.surface)
        of_turn = self.hook_report, self.ended_turn, self.running_since_utc
        return self.reach, self.pane_id, self.pane_pid, self.is_scrolled, of_turn, of_surface


def comparison_key(surface: "Surface") -> tuple[object, ...]:
    """The parts whose change is reported. Without the detail, in which a retry counts its seconds."""
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
