"""Bodies of the gateway's TUI routes: current state and history."""

from typing import Annotated, Literal

from pydantic import Field

from posthouse.contracts.gateway_http import NonBlank, Query, Wire

TriState = Literal["yes", "no", "unknown"]
Phase = Literal["ready", "active", "unknown"]
TurnResult = Literal["success", "interrupted", "known_failure", "none"]
TurnSource = Literal["explicit_input", "surface_inference", "none"]
Availability = Literal["available", "unavailable", "tui_down", "error", "unknown"]
TransportState = Literal["tmux_up", "tmux_missing", "probe_error"]
ProcessState = Literal["tui_up", "tui_down", "unsupported_tool", "probe_error", "unknown"]
ParseStatus = Literal[
    "parsed", "skipped_tui_down", "unsupported_tool", "transport_unavailable", "probe_error", "parse_error"
]
ChatContext = Literal["current", "degraded", "unknown"]


class TrackedSession(Wire):
    """The tracked session."""

    tracked_session_id: str
    session_name: str
    tool: str
    observed_tool_version: str | None
    tmux_session_name: str
    tmux_window_name: str | None
    terminal_aliases: tuple[str, ...] = ()
    agent_name: str | None
    agent_id: str | None
    manifest_path: str | None
    session_root: str | None


class Problem(Wire):
    """Why a probe failed."""

    kind: str
    message: str
    details: dict[str, str] = Field(default_factory=dict)


class Diagnostics(Wire):
    """Progress of the last probe: terminal, process, screen."""

    availability: Availability
    transport_state: TransportState
    process_state: ProcessState
    parse_status: ParseStatus
    probe_error: Problem | None = None
    parse_error: Problem | None = None


class ProbeSnapshot(Wire):
    """Result of the last probe."""

    observed_at_utc: str
    pane_id: str | None
    pane_pid: int | None
    captured_text_hash: str | None
    captured_text_length: int = 0
    captured_text_excerpt: str = ""
    matched_process_names: tuple[str, ...] = ()


class ParsedSurface(Wire):
    """The parsed screen."""

    parser_family: str
    parser_preset_id: str | None
    parser_preset_version: str | None
    availability: Literal["supported", "unsupported", "disconnected", "unknown"]
    business_state: Literal["idle", "working", "awaiting_operator", "unknown"]
    input_mode: Literal["freeform", "modal", "closed", "unknown"]
    ui_context: Literal[
        "normal_prompt",
        "selection_menu",
        "slash_command",
        "error_banner",
        "trust_prompt",
        "approval_prompt",
        "unknown",
    ]
    normalized_projection_text: str
    dialog_text: str
    dialog_head: str
    dialog_tail: str
    anomaly_codes: tuple[str, ...] = ()
    baseline_invalidated: bool = False
    operator_blocked_excerpt: str | None


class SurfaceSignals(Wire):
    """Screen signals that matter before typing."""

    accepting_input: TriState
    editing_input: TriState
    ready_posture: TriState


class TurnPhase(Wire):
    phase: Phase


class LastTurn(Wire):
    """The proven end of the last turn."""

    result: TurnResult
    source: TurnSource
    updated_at_utc: str | None


class ContextDiagnostic(Wire):
    tool_name: str
    detector_name: str
    detector_version: str
    degraded_error_type: str
    message_preview: str | None


class Stability(Wire):
    """How long the state has not changed."""

    signature: str
    stable: bool
    stable_for_seconds: float
    stable_since_utc: str


class Transition(Wire):
    """One state change and the resulting state."""

    recorded_at_utc: str
    summary: str
    changed_fields: tuple[str, ...]
    diagnostics_availability: Availability
    turn_phase: Phase
    last_turn_result: TurnResult
    last_turn_source: TurnSource
    transport_state: TransportState
    process_state: ProcessState
    parse_status: ParseStatus


class TerminalState(Wire):
    """Current state of a TUI."""

    terminal_id: str
    tracked_session: TrackedSession
    diagnostics: Diagnostics
    probe_snapshot: ProbeSnapshot | None
    parsed_surface: ParsedSurface | None
    surface: SurfaceSignals
    turn: TurnPhase
    last_turn: LastTurn
    chat_context: ChatContext = "unknown"
    chat_context_diagnostic: ContextDiagnostic | None = None
    stability: Stability
    recent_transitions: tuple[Transition, ...]


class Snapshot(Wire):
    """State of a TUI at one moment."""

    recorded_at_utc: str
    diagnostics: Diagnostics
    probe_snapshot: ProbeSnapshot | None
    parsed_surface: ParsedSurface | None
    surface: SurfaceSignals
    turn: TurnPhase
    last_turn: LastTurn
    chat_context: ChatContext = "unknown"
    chat_context_diagnostic: ContextDiagnostic | None = None
    stability: Stability


class SnapshotHistory(Wire):
    """The newest entries, oldest first."""

    terminal_id: str
    tracked_session_id: str
    entries: tuple[Snapshot, ...]


class HistoryQuery(Query):
    #: 0 or less: all stored entries.
    limit: int = 100


class DialogChoice(Wire):
    """One choice of a dialog."""

    #: As displayed; null when the dialog does not number its entries.
    number: int | None
    label: str
    selected: bool


class OpenDialog(Wire):
    """A dialog that waits for an answer."""

    #: Null: a dialog is open, but its content is unknown.
    name: str | None
    choices: tuple[DialogChoice, ...]


class StateEvidence(Wire):
    """The state that one source reports, and since when."""

    source: Literal["process", "title", "screen", "hook", "transcript"]
    says: str
    detail: str
    since_utc: str
    age_seconds: float


class EvidenceConflict(Wire):
    """Two sources that contradict each other."""

    between: tuple[str, str]
    words: str
    since_utc: str


class ScreenPackInfo(Wire):
    """The screen pack that parsed the screen, and whether it matches the CLI's version."""

    tool: str
    tool_version: str | None
    pack: str | None
    #: Set when the nearest pack is used instead of an exact match.
    note: str | None


class TuiStateResponse(Wire):
    """Inferred state of a TUI, with its evidence."""

    terminal_id: str
    state: Literal[
        "starting",
        "ready",
        "draft",
        "active",
        "queued",
        "blocked",
        "limited",
        "exited",
        "stale",
        "unknown",
    ]
    state_since_utc: str
    state_age_seconds: float
    detail: str
    #: How the last turn ended.
    outcome: Literal["none", "success", "interrupted", "error"]
    error_kind: Literal["api_error", "context_full", "overloaded"] | None
    dialog: OpenDialog | None
    #: Text in the composer; null when there is no composer.
    draft: str | None
    #: The terminal is in copy mode, so keys would not reach the program.
    is_scrolled: bool
    #: When a usage limit ends, if known.
    resets_at_utc: str | None
    decided_by: tuple[str, ...]
    evidence: tuple[StateEvidence, ...]
    disagreement: EvidenceConflict | None
    #: Contradictions that outlasted the stability window since the gateway started.
    disagreements: int
    #: When the last drift alarm was raised.
    drift_alarm_at_utc: str | None
    reader: ScreenPackInfo


class AnswerDialog(Wire):
    """Answer the TUI's open dialog."""

    #: The number of a choice, its label, or a prefix of its label.
    choice: int | NonBlank
    #: Answer only if this dialog is open; null: any open dialog.
    dialog: NonBlank | None = None


class DialogAnswered(Wire):
    """The pressed key, and whether the dialog closed."""

    dialog: str | None
    choice: DialogChoice
    #: `unconfirmed`: the key was pressed, but the same dialog was still open seconds later.
    outcome: Literal["answered", "unconfirmed"]
    #: The inferred TUI state afterwards.
    state: str


class AnswerRule(Wire):
    """A rule that answers a dialog automatically."""

    dialog: NonBlank
    #: The label of a choice, or a prefix of it.
    choice: NonBlank


class AnswerRules(Wire):
    """Rules for automatic answers to dialogs."""

    rules: Annotated[tuple[AnswerRule, ...], Field(max_length=100)]


class LimitState(Wire):
    """Whether a usage limit holds the queue."""

    is_parked: bool
    #: When the queue resumes automatically; null: unknown.
    resumes_at_utc: str | None
    detail: str
