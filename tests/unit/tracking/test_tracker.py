"""What is believed of a TUI after each look, each note, and some time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from posthouse import tools
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.terminal.screen import Surface, SurfaceState
from posthouse.tools.packs import captures
from posthouse.tracking import tracker
from posthouse.tracking.observation import EndedTurn, Observation
from posthouse.tracking.tracker import TuiState

START = datetime(2026, 6, 5, tzinfo=UTC)
TIMINGS = TrackingTimings()
OLD = EndedTurn(submitted_at_utc="2026-06-05T00:00:00+00:00", outcome="success")
NEW = EndedTurn(submitted_at_utc="2026-06-05T00:00:09+00:00", outcome="success")
Step = Callable[[TuiState, datetime], TuiState]


def look(state: SurfaceState, *, ended: EndedTurn | None = None, **more: Any) -> Step:
    surface = Surface(state=state, evidence=("test",), **{"composer": "", **more})
    observation = Observation(reach="screen", pane_id="%1", pane_pid=1, surface=surface, ended_turn=ended)
    return lambda state, at: tracker.observe(state, observation, at=at, timings=TIMINGS)


def lost(state: TuiState, at: datetime) -> TuiState:
    return tracker.observe(state, Observation(reach="no_session"), at=at, timings=TIMINGS)


def note(state: TuiState, at: datetime) -> TuiState:
    return tracker.note_prompt(state, at=at)


def withdraw(state: TuiState, at: datetime) -> TuiState:
    return tracker.withdraw_prompt(state, at=at, timings=TIMINGS)


def after(*steps: Step, seconds: float = 1.0) -> TuiState:
    """The state after *steps*, *seconds* apart."""
    state = tracker.initial(START)
    for number, step in enumerate(steps, 1):
        state = step(state, START + timedelta(seconds=number * seconds))
    return state


STORIES: dict[str, tuple[list[Step], tuple[str, str, str]]] = {
    "nobody has looked": ([], ("unknown", "none", "none")),
    "a ready screen at the start is no success": ([look("ready", ended=OLD)], ("ready", "none", "none")),
    "a screen at work": ([look("ready"), look("active")], ("active", "none", "none")),
    "a turn that was watched": (
        [look("ready", ended=OLD), look("active"), look("ready", ended=NEW)],
        ("ready", "success", "surface_inference"),
    ),
    "a turn that was noted": (
        [look("ready", ended=OLD), note, look("active"), look("ready", ended=NEW)],
        ("ready", "success", "explicit_input"),
    ),
    "a noted turn too quick to be seen": (
        [look("ready", ended=OLD), note, look("ready", ended=NEW)],
        ("ready", "success", "explicit_input"),
    ),
    "a noted turn of which the screen told before its transcript": (
        [
            look("ready", ended=OLD),
            note,
            look("active"),
            look("ready", ended=OLD, outcome="interrupted"),
            look(
                "ready", ended=EndedTurn(submitted_at_utc="2026-06-05T00:00:02+00:00", outcome="interrupted")
            ),
        ],
        ("ready", "interrupted", "explicit_input"),
    ),
    "a note alone": ([look("ready", ended=OLD), note], ("active", "none", "none")),
    "a note that the screen does not show yet": (
        [look("ready", ended=OLD), note, look("ready", ended=OLD)],
        ("active", "none", "none"),
    ),
    "a note that was taken back": (
        [look("ready", ended=OLD), note, withdraw],
        ("ready", "none", "none"),
    ),
    "over, and nothing tells how": ([look("active"), look("ready")], ("ready", "none", "none")),
    "over, and the transcript tells later": (
        [look("ready", ended=OLD), look("active"), look("ready", ended=OLD), look("ready", ended=NEW)],
        ("ready", "success", "surface_inference"),
    ),
    "an unproved turn lends nothing to the next": (
        [note, look("active"), look("ready"), look("active"), look("ready", ended=NEW)],
        ("ready", "success", "surface_inference"),
    ),
    "an error that only the screen shows": (
        [look("ready"), look("active"), look("ready", outcome="error")],
        ("ready", "known_failure", "surface_inference"),
    ),
    "a question in the middle of a turn": (
        [note, look("active"), look("blocked", dialog="permission", composer=None)],
        ("unknown", "none", "none"),
    ),
    "a turn that goes on after its question": (
        [note, look("active"), look("blocked"), look("active"), look("ready", ended=NEW)],
        ("ready", "success", "explicit_input"),
    ),
    "the next turn clears what was": (
        [look("ready"), look("active"), look("ready", ended=NEW), look("active")],
        ("active", "none", "none"),
    ),
    "a lost screen loses the turn": (
        [look("ready", ended=OLD), note, lost, look("ready", ended=NEW)],
        ("ready", "none", "none"),
    ),
}


@pytest.mark.parametrize(("steps", "believed"), STORIES.values(), ids=STORIES.keys())
def test_phase_and_last_turn(steps: list[Step], believed: tuple[str, str, str]) -> None:
    """Nothing is called a success that nobody proved."""
    turn = after(*steps).turn

    assert (turn.phase, turn.last.result, turn.last.source) == believed


@pytest.mark.parametrize(
    ("outcome", "result"),
    [("success", "success"), ("interrupted", "interrupted"), ("error", "known_failure")],
)
def test_the_transcript_says_how_a_turn_ended(outcome: Any, result: str) -> None:
    """A quiet screen looks the same after each."""
    ended = EndedTurn(submitted_at_utc=NEW.submitted_at_utc, outcome=outcome)

    last = after(look("active"), look("ready", ended=ended)).turn.last

    assert (last.result, last.at) == (result, START + timedelta(seconds=2))


@pytest.mark.parametrize(
    ("capture", "error_type"),
    [
        ("compact-failed-context", "codex_remote_compact_context_length_exceeded"),
        ("compact-failed-fatal", "unknown"),
        ("compact-failed-parameter", "codex_remote_compact_unknown_parameter"),
        ("compact-failed-server", "codex_remote_compact_server_error"),
        ("compact-failed-stream", "codex_remote_compact_stream_disconnected"),
    ],
)
def test_a_failed_compaction_degrades_the_chat_and_is_no_known_failure(capture: str, error_type: str) -> None:
    """The contract's words tell of the chat; our own outcome is an error all the same."""
    screen = captures.screen(captures.folder_of("codex"), capture)
    observation = Observation(reach="screen", surface=tools.load("codex").read_surface(screen))

    state = after(note, look("active"), lambda b, at: tracker.observe(b, observation, at=at, timings=TIMINGS))

    told = ("turn_phase", "last_turn_result", "last_turn_source", "chat_context", "chat_context_diagnostic")
    assert [state.facts[name] for name in told] == ["ready", "none", "none", "degraded", error_type]
    assert (state.turn.last.in_contract.at, state.outcome) == (None, "error")


def test_a_turn_that_came_and_went_between_two_looks_is_the_last_one() -> None:
    """The transcript alone tells of it; an earlier one that it tells of again is not news."""
    first = EndedTurn(submitted_at_utc="2026-11-15T10:00:01.000000+00:00", outcome="interrupted")
    second = EndedTurn(submitted_at_utc="2026-11-15T10:00:02.000000+00:00", outcome="success")
    seen = [look("ready"), look("active"), look("ready", ended=first)]

    missed = after(*seen, look("ready", ended=second))
    again = after(*seen, look("ready", ended=second), look("ready", ended=first))
    at_the_start = after(look("ready", ended=first))

    assert (missed.turn.last.result, missed.turn.last.source) == ("success", "surface_inference")
    assert again.turn.last.result == "success"
    assert at_the_start.turn.last.result == "none"


def test_a_note_that_nothing_follows_is_given_up() -> None:
    """Somebody's note does not block the agent for ever."""
    steps = [look("ready", ended=OLD), note, look("ready", ended=OLD)]
    seconds = TIMINGS.final_stable_active_recovery_seconds

    assert after(*steps, seconds=seconds - 0.1).turn.phase == "active"
    assert after(*steps, seconds=seconds).turn.phase == "ready"


SIGNALS: dict[str, tuple[Step, tuple[str, ...]]] = {
    "ready": (look("ready"), ("yes", "no", "yes", "idle", "freeform", "normal_prompt")),
    "draft": (look("draft", composer="x"), ("yes", "yes", "yes", "idle", "freeform", "normal_prompt")),
    "active": (look("active"), ("yes", "no", "no", "working", "freeform", "normal_prompt")),
    "active, typed into": (
        look("active", composer="x"),
        ("yes", "yes", "no", "working", "freeform", "normal_prompt"),
    ),
    "active without a composer": (
        look("active", composer=None),
        ("no", "no", "no", "working", "closed", "normal_prompt"),
    ),
    "a permission": (
        look("blocked", dialog="permission", composer=None),
        ("no", "no", "unknown", "awaiting_operator", "modal", "approval_prompt"),
    ),
    "trust": (
        look("blocked", dialog="trust", composer=None),
        ("no", "no", "unknown", "awaiting_operator", "modal", "trust_prompt"),
    ),
    "starting": (look("starting"), ("unknown",) * 6),
    "lost": (lost, ("unknown",) * 6),
}


@pytest.mark.parametrize(("step", "told"), SIGNALS.values(), ids=SIGNALS.keys())
def test_what_a_surface_says_in_the_contracts_words(step: Step, told: tuple[str, ...]) -> None:
    """Accepting, editing, posture; business, input mode, context."""
    facts = after(step).surface

    shown = (facts.accepting, facts.editing, facts.posture, facts.business, facts.input_mode, facts.context)
    assert shown == told


REACHES: dict[str, tuple[Observation | None, tuple[str, str, str, str, str | None]]] = {
    "nobody looked": (None, ("unknown", "tmux_missing", "unknown", "transport_unavailable", None)),
    "no session": (
        Observation(reach="no_session", detail="gone"),
        ("unavailable", "tmux_missing", "unknown", "transport_unavailable", None),
    ),
    "no program": (
        Observation(reach="program_ended", detail="ended"),
        ("tui_down", "tmux_up", "tui_down", "skipped_tui_down", None),
    ),
    "no answer": (
        Observation(reach="no_answer", detail="tmux is frozen"),
        ("error", "probe_error", "probe_error", "probe_error", "tmux is frozen"),
    ),
}


@pytest.mark.parametrize(("observation", "told"), REACHES.values(), ids=REACHES.keys())
def test_how_far_a_look_got(
    observation: Observation | None, told: tuple[str, str, str, str, str | None]
) -> None:
    """Terminal, process and screen are told apart."""
    state = tracker.initial(START)
    if observation is not None:
        state = tracker.observe(state, observation, at=START, timings=TIMINGS)
    facts = state.surface

    assert (facts.availability, facts.transport, facts.process, facts.parse, facts.probe_error) == told


def test_a_scrolled_screen_takes_no_keys() -> None:
    """A person in copy mode makes a ready agent unready."""
    surface = Surface(state="ready", evidence=("test",), composer="")
    observation = Observation(reach="screen", surface=surface, is_scrolled=True)

    facts = tracker.observe(tracker.initial(START), observation, at=START, timings=TIMINGS).surface

    assert (facts.accepting, facts.posture, facts.is_promptable) == ("no", "no", False)


def test_only_changes_are_transitions_and_only_the_newest_stay() -> None:
    """The same look again is no news, and the list does not grow for ever."""
    quiet = after(look("ready"), look("ready"), look("ready"))
    restless = after(*[look("active"), look("draft", composer="x")] * 40)

    assert [one.changed[-1] for one in quiet.transitions] == ["turn_phase"]
    assert len(restless.transitions) == tracker.MAX_TRANSITIONS == 24
    assert restless.transitions[-1].at == START + timedelta(seconds=80)


def test_stability_counts_from_the_last_change() -> None:
    """The signature stays the same as long, and other facts have another."""
    ready = after(look("ready"), look("ready"), look("ready"))
    active = after(look("active"))
    changed_at = START + timedelta(seconds=1)

    assert (ready.since, ready.signature == active.signature) == (changed_at, False)
    assert not ready.is_stable(changed_at + timedelta(seconds=0.9), TIMINGS)
    assert ready.is_stable(changed_at + timedelta(seconds=1), TIMINGS)
