"""One observation of a TUI in the terms of the contract. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from posthouse.terminal.screen import ChatContext, ChatDiagnostic, Surface
from posthouse.tracking.inference import Inference, InferredState
from posthouse.tracking.observation import Observation

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
class SurfaceFacts:
    """The result of the probe, and whether a prompt can be typed."""

    availability: Availability
    transport: Transport
    process: ProcessState
    parse: ParseStatus
    #: Why tmux could not be queried; None if it could.
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

    def by_name(self) -> Mapping[str, str]:
        """The facts by their names in transitions."""
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


_UNSEEN = SurfaceFacts(
    availability="unknown", transport="tmux_missing", process="unknown", parse="transport_unavailable"
)
_NO_SESSION = SurfaceFacts(
    availability="unavailable", transport="tmux_missing", process="unknown", parse="transport_unavailable"
)
_ENDED = SurfaceFacts(
    availability="tui_down", transport="tmux_up", process="tui_down", parse="skipped_tui_down"
)


def facts_of(observation: Observation | None, inferred: Inference) -> SurfaceFacts:
    """The facts of *observation* with *inferred*. None: the facts before the first observation."""
    if observation is None:
        return _UNSEEN
    if observation.reach == "no_session":
        return _NO_SESSION
    if observation.reach == "no_answer":
        return SurfaceFacts(
            availability="error",
            transport="probe_error",
            process="probe_error",
            parse="probe_error",
            probe_error=observation.detail,
        )
    if observation.surface is None or inferred.state == "exited":
        return _ENDED
    # A stale screen still shows its state.
    state = observation.surface.state if inferred.state == "stale" else inferred.state
    return _of_surface(observation.surface, state, is_scrolled=observation.is_scrolled)


def _of_surface(surface: Surface, state: InferredState, *, is_scrolled: bool) -> SurfaceFacts:
    accepting, editing, posture = _signals(surface, state)
    business, input_mode, context = _meaning(surface, state)
    return SurfaceFacts(
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


def _signals(surface: Surface, state: InferredState) -> tuple[TriState, TriState, TriState]:
    """Whether it accepts input, holds a draft, and is ready."""
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


def _meaning(surface: Surface, state: InferredState) -> tuple[Business, InputMode, Context]:
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
