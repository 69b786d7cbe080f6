"""What one look at a TUI says in the contract's words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from posthouse.terminal.screen import ChatContext, ChatDiagnostic, Surface
from posthouse.tracking.inference import State, Verdict
from posthouse.tracking.observation import Sight

TriState = Literal["yes", "no", "unknown"]
Business = Literal["idle", "working", "awaiting_operator", "unknown"]
InputMode = Literal["freeform", "modal", "closed", "unknown"]
Context = Literal[
    "normal_prompt", "selection_menu", "error_banner", "trust_prompt", "approval_prompt", "unknown"
]
Availability = Literal["available", "unavailable", "tui_down", "error", "unknown"]
Transport = Literal["tmux_up", "tmux_missing", "probe_error"]
ProcessState = Literal["tui_up", "tui_down", "probe_error", "unknown"]
ParseStatus = Literal["parsed", "skipped_tui_down", "transport_unavailable", "probe_error"]

PROBE_ERROR = "tmux_probe_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """How far a look got, and what it found for somebody who wants to type."""

    availability: Availability
    transport: Transport
    process: ProcessState
    parse: ParseStatus
    #: Why tmux could not be asked; None when it could.
    probe_error: str | None = None
    accepting: TriState = "unknown"
    editing: TriState = "unknown"
    posture: TriState = "unknown"
    business: Business = "unknown"
    input_mode: InputMode = "unknown"
    context: Context = "unknown"
    chat: ChatContext = "unknown"
    chat_diagnostic: ChatDiagnostic | None = None

    @property
    def is_promptable(self) -> bool:
        """Whether a prompt could be typed."""
        return (
            (self.accepting, self.editing, self.posture) == ("yes", "no", "yes")
            and self.business == "idle"
            and self.input_mode == "freeform"
        )

    def named(self) -> Mapping[str, str]:
        """By the names that transitions use."""
        return {
            "diagnostics_availability": self.availability,
            "transport_state": self.transport,
            "process_state": self.process,
            "parse_status": self.parse,
            "probe_error": self.probe_error or "",
            "surface_accepting_input": self.accepting,
            "surface_editing_input": self.editing,
            "surface_ready_posture": self.posture,
            "surface_business_state": self.business,
            "surface_input_mode": self.input_mode,
            "surface_ui_context": self.context,
            "chat_context": self.chat,
            "chat_context_diagnostic": self.chat_diagnostic.error_type if self.chat_diagnostic else "",
        }


_UNSEEN = Facts(
    availability="unknown", transport="tmux_missing", process="unknown", parse="transport_unavailable"
)
_NO_SESSION = Facts(
    availability="unavailable", transport="tmux_missing", process="unknown", parse="transport_unavailable"
)
_ENDED = Facts(availability="tui_down", transport="tmux_up", process="tui_down", parse="skipped_tui_down")


def facts_of(sight: Sight | None, verdict: Verdict) -> Facts:
    """What *sight* says after *verdict*; None is the state before the first look."""
    if sight is None:
        return _UNSEEN
    if sight.reach == "no_session":
        return _NO_SESSION
    if sight.reach == "no_answer":
        return Facts(
            availability="error",
            transport="probe_error",
            process="probe_error",
            parse="probe_error",
            probe_error=sight.detail,
        )
    if sight.surface is None or verdict.state == "exited":
        return _ENDED
    # What is silent for long still shows what it shows.
    state = sight.surface.state if verdict.state == "stale" else verdict.state
    return _of_surface(sight.surface, state, is_scrolled=sight.is_scrolled)


def _of_surface(surface: Surface, state: State, *, is_scrolled: bool) -> Facts:
    accepting, editing, posture = _signals(surface, state)
    business, input_mode, context = _meaning(surface, state)
    return Facts(
        availability="available",
        transport="tmux_up",
        process="tui_up",
        parse="parsed",
        accepting="no" if is_scrolled else accepting,
        editing=editing,
        posture="no" if is_scrolled else posture,
        business=business,
        input_mode=input_mode,
        context=context,
        chat=surface.chat_context,
        chat_diagnostic=surface.chat_diagnostic,
    )


def _signals(surface: Surface, state: State) -> tuple[TriState, TriState, TriState]:
    """Whether it accepts input, holds a draft, and stands ready."""
    match state:
        case "ready":
            return "yes", "no", "yes"
        case "draft":
            return "yes", "yes", "yes"
        case "active" | "queued" | "limited":
            return "no" if surface.composer is None else "yes", "yes" if surface.composer else "no", "no"
        case "blocked":
            return "no", "no", "unknown"
        case _:
            return "unknown", "unknown", "unknown"


def _meaning(surface: Surface, state: State) -> tuple[Business, InputMode, Context]:
    at_prompt: Context = "error_banner" if surface.outcome == "error" else "normal_prompt"
    match state:
        case "ready" | "draft" | "limited":
            return "idle", "freeform", at_prompt
        case "active" | "queued":
            return "working", "closed" if surface.composer is None else "freeform", "normal_prompt"
        case "blocked":
            return "awaiting_operator", "modal", _context(surface.dialog or "")
        case _:
            return "unknown", "unknown", "unknown"


def _context(dialog: str) -> Context:
    if "trust" in dialog:
        return "trust_prompt"
    return "approval_prompt" if "permission" in dialog or "approval" in dialog else "selection_menu"
