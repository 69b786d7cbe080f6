"""What crosses the gateway's door about a TUI: how it stands, and how it stood."""

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
    """Who is tracked."""

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
    """Why a look failed."""

    kind: str
    message: str
    details: dict[str, str] = Field(default_factory=dict)


class Diagnostics(Wire):
    """How far the last look got: terminal, process, screen."""

    availability: Availability
    transport_state: TransportState
    process_state: ProcessState
    parse_status: ParseStatus
    probe_error: Problem | None = None
    parse_error: Problem | None = None


class ProbeSnapshot(Wire):
    """What the last look saw."""

    observed_at_utc: str
    pane_id: str | None
    pane_pid: int | None
    captured_text_hash: str | None
    captured_text_length: int = 0
    captured_text_excerpt: str = ""
    matched_process_names: tuple[str, ...] = ()


class ParsedSurface(Wire):
    """What the screen means."""

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
    """What somebody who wants to type has to know."""

    accepting_input: TriState
    editing_input: TriState
    ready_posture: TriState


class TurnPhase(Wire):
    phase: Phase


class LastTurn(Wire):
    """How the last turn ended, as far as that was proved."""

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
    """For how long nothing of it has changed."""

    signature: str
    stable: bool
    stable_for_seconds: float
    stable_since_utc: str


class Transition(Wire):
    """One change, and what it left."""

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
    """How a TUI stands now."""

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
    """How a TUI stood at one moment."""

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
    #: 0 or less: everything that is kept.
    limit: int = 100


class BeliefChoice(Wire):
    """One answer that a dialog offers."""

    #: As it is painted; null where the dialog does not number its entries.
    number: int | None
    label: str
    selected: bool


class BeliefDialog(Wire):
    """What waits for a person's answer."""

    #: Null: that something is asked is known, and not what.
    name: str | None
    choices: tuple[BeliefChoice, ...]


class BeliefEvidence(Wire):
    """One witness's word, and for how long it has said so."""

    source: Literal["process", "title", "screen", "hook", "transcript"]
    says: str
    detail: str
    since_utc: str
    age_seconds: float


class BeliefDisagreement(Wire):
    """Two witnesses that contradict each other."""

    between: tuple[str, str]
    words: str
    since_utc: str


class BeliefReader(Wire):
    """What read the screen, and whether it was made for this version of the CLI."""

    tool: str
    tool_version: str | None
    pack: str | None
    #: Said when the pack is the nearest one, and not the version's own.
    note: str | None


class TuiBelief(Wire):
    """What a TUI is believed to do, with everything that the belief rests on."""

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
    dialog: BeliefDialog | None
    #: What stands in the composer; null when there is none.
    draft: str | None
    #: A person scrolls in the terminal, and keys would not reach the program.
    is_scrolled: bool
    #: When a usage limit ends, where that is known.
    resets_at_utc: str | None
    decided_by: tuple[str, ...]
    evidence: tuple[BeliefEvidence, ...]
    disagreement: BeliefDisagreement | None
    #: How many contradictions outlasted the stability window since the gateway started.
    disagreements: int
    #: When the last drift alarm was raised.
    drift_alarm_at_utc: str | None
    reader: BeliefReader


class AnswerDialog(Wire):
    """Answer what the TUI asks."""

    #: The number of a choice, its label, or the beginning of its label.
    choice: int | NonBlank
    #: Only if this dialog is the one that is open; null: whichever is.
    dialog: NonBlank | None = None


class DialogAnswered(Wire):
    """What was pressed, and whether the dialog went away."""

    dialog: str | None
    choice: BeliefChoice
    #: `unconfirmed`: it was pressed, and the same dialog still stood there seconds later.
    outcome: Literal["answered", "unconfirmed"]
    #: What the TUI was believed to do then.
    state: str


class AnswerRule(Wire):
    """A dialog that is always to be answered in the same way."""

    dialog: NonBlank
    #: The label of a choice, or the beginning of its label.
    choice: NonBlank


class AnswerRules(Wire):
    """What the user wants to be answered without being asked."""

    rules: Annotated[tuple[AnswerRule, ...], Field(max_length=100)]


class LimitState(Wire):
    """Whether the queue waits for a usage limit to end."""

    is_parked: bool
    #: When it goes on by itself; null: nothing tells.
    resumes_at_utc: str | None
    detail: str
