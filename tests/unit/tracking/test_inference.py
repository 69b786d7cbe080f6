"""Who is believed when hooks, transcript, process, title and screen speak of one TUI."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.support import clock
from posthouse.terminal.screen import Surface
from posthouse.tools import tool  # a name that begins with Test would be collected
from posthouse.tools.tool import TurnSignal
from posthouse.tracking import tracker
from posthouse.tracking.observation import EndedTurn, HookReport, Observation
from posthouse.tracking.tracker import TuiState

START = datetime(2026, 6, 5, 12, tzinfo=UTC)
TIMINGS = TrackingTimings()
ALWAYS_ENDS = tool.EvidenceRules(unreported_outcomes=frozenset(), end_implies_success=False)
ENDED = EndedTurn(submitted_at_utc="2026-06-05T11:00:00+00:00", outcome="success")
Step = tuple[float, Observation]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def screen(state: Any, *, composer: str | None = "", **more: Any) -> Observation:
    return Observation(
        reach="screen",
        surface=Surface(state=state, evidence=("test",), composer=composer, **more),
        text=state,
    )


def hook(observation: Observation, meaning: TurnSignal, seconds: float) -> Observation:
    return replace(observation, hook_report=HookReport(meaning=meaning, at=at(seconds)))


def running(observation: Observation, seconds: float) -> Observation:
    return replace(observation, running_since_utc=clock.iso_micros(at(seconds)))


def after(
    *steps: Step, testimony: tool.EvidenceRules | None = None, timings: TrackingTimings = TIMINGS
) -> TuiState:
    """The state after what was seen at those seconds."""
    state = tracker.initial(START)
    for seconds, observation in steps:
        state = tracker.observe(
            state, observation, at=at(seconds), timings=timings, rules=testimony or tool.EvidenceRules()
        )
    return state


READY, ACTIVE, ASKED = (
    screen("ready"),
    screen("active"),
    screen("blocked", composer=None, dialog="permission"),
)
UNREADABLE = screen("unknown", composer=None)

STORIES: dict[str, tuple[list[Step], tool.EvidenceRules | None, tuple[str, tuple[str, ...]]]] = {
    "the screen's word is taken at once": ([(0, READY), (1, ACTIVE)], None, ("active", ("screen",))),
    "a title says so too": (
        [(0, screen("active", title="active"))],
        None,
        ("active", ("title", "screen")),
    ),
    "a hook starts a turn that the screen does not show yet": (
        [(0, READY), (5.1, hook(READY, "submitted", 5.0))],
        None,
        ("active", ("hook",)),
    ),
    "a hook that the screen does not follow is no turn": (
        [(0, READY), (5.1, hook(READY, "submitted", 5.0)), (6.1, hook(READY, "submitted", 5.0))],
        None,
        ("ready", ("screen",)),
    ),
    "a screen that came to rest after the hook is believed": (
        [(0, READY), (5.1, ACTIVE), (5.3, hook(READY, "submitted", 5.0))],
        None,
        ("ready", ("screen",)),
    ),
    "a hook speaks for a screen that can't be read": (
        [(0, UNREADABLE), (60, hook(UNREADABLE, "submitted", 5.0))],
        None,
        ("active", ("hook",)),
    ),
    "a hook that asks blocks a screen that can't be read": (
        [(0, UNREADABLE), (60, hook(UNREADABLE, "asking", 5.0))],
        None,
        ("blocked", ("hook",)),
    ),
    "who is not believed for this CLI adds nothing": (
        [(0, UNREADABLE), (60, hook(UNREADABLE, "asking", 5.0))],
        tool.EvidenceRules(blocks=frozenset({"screen"})),
        ("unknown", ("screen",)),
    ),
    "silence after Escape is no contradiction": (
        [
            (0, ACTIVE),
            (5, running(hook(READY, "submitted", 1), 1)),
            (60, running(hook(READY, "submitted", 1), 1)),
        ],
        None,
        ("ready", ("screen",)),
    ),
    "silence of a CLI that always tells is one": (
        [
            (0, ACTIVE),
            (5, running(hook(READY, "submitted", 1), 1)),
            (60, running(hook(READY, "submitted", 1), 1)),
        ],
        ALWAYS_ENDS,
        ("unknown", ("hook", "screen")),
    ),
    "a contradiction is borne for a moment": (
        [
            (0, ACTIVE),
            (5, running(hook(READY, "submitted", 1), 1)),
            (5.9, running(hook(READY, "submitted", 1), 1)),
        ],
        ALWAYS_ENDS,
        ("ready", ("screen",)),
    ),
    "the screen works on after the hook said that it is over": (
        [(0, ACTIVE), (5, hook(ACTIVE, "ended", 5)), (6.1, hook(ACTIVE, "ended", 5))],
        None,
        ("unknown", ("hook", "screen")),
    ),
    "what began after the hook spoke is another turn": (
        [(0, READY), (6, hook(ACTIVE, "ended", 5)), (60, hook(ACTIVE, "ended", 5))],
        None,
        ("active", ("screen",)),
    ),
    "the transcript knows of another turn": (
        [(0, ACTIVE), (60, running(hook(ACTIVE, "ended", 5), 6))],
        None,
        ("active", ("screen",)),
    ),
    "an idle title under a dialog is no contradiction": (
        [
            (0, screen("blocked", composer=None, title="idle")),
            (60, screen("blocked", composer=None, title="idle")),
        ],
        None,
        ("blocked", ("title", "screen")),
    ),
    "a person is asked, and no dialog was ever seen": (
        [(0, ACTIVE), (5, running(hook(READY, "asking", 4), 1)), (60, running(hook(READY, "asking", 4), 1))],
        None,
        ("unknown", ("hook", "screen")),
    ),
    "a dialog that was answered with Escape": (
        [(0, ACTIVE), (5, running(hook(ASKED, "asking", 4), 1)), (60, running(hook(READY, "asking", 4), 1))],
        None,
        ("ready", ("screen",)),
    ),
    "a program that ended": (
        [(0, READY), (1, Observation(reach="program_ended"))],
        None,
        ("exited", ("process",)),
    ),
    "a session that is gone": (
        [(0, READY), (1, Observation(reach="no_session"))],
        None,
        ("exited", ("process",)),
    ),
    "a tmux that does not answer": (
        [(0, READY), (1, Observation(reach="no_answer"))],
        None,
        ("stale", ("process",)),
    ),
    "a turn that writes nothing for long": (
        [(0, ACTIVE), (40, replace(hook(ACTIVE, "submitted", 1), output_at=at(10)))],
        None,
        ("stale", ("screen",)),
    ),
    "a turn that writes": (
        [(0, ACTIVE), (40, replace(hook(ACTIVE, "submitted", 1), output_at=at(39)))],
        None,
        ("active", ("screen",)),
    ),
    "a limit without a time": ([(0, screen("limited"))], None, ("limited", ("screen",))),
    "a limit before its time": (
        [(0, screen("limited", resets="in 2 hours"))],
        None,
        ("limited", ("screen",)),
    ),
    "a limit whose time has come": (
        [(0, screen("limited", resets="in 2 hours")), (7201, screen("limited", resets="in 2 hours"))],
        None,
        ("ready", ("screen",)),
    ),
}


@pytest.mark.parametrize(("steps", "testimony", "believed"), STORIES.values(), ids=STORIES.keys())
def test_who_is_believed(
    steps: list[Step], testimony: tool.EvidenceRules | None, believed: tuple[str, tuple[str, ...]]
) -> None:
    """The state, and who decided it."""
    inferred = after(*steps, testimony=testimony).inferred

    assert (inferred.state, inferred.decided_by) == believed


RECOVERIES: dict[str, tuple[Observation, float, str]] = {
    "a mere status row, before its time": (ACTIVE, 4.9, "active"),
    "a mere status row": (ACTIVE, 5.0, "ready"),
    "a title says so too": (screen("active", title="active"), 19.9, "active"),
    "a title says so for too long": (screen("active", title="active"), 20.0, "ready"),
    "a hook told of it": (hook(ACTIVE, "submitted", 0), 29.0, "active"),
    "a transcript told of it": (replace(ACTIVE, ended_turn=ENDED), 29.0, "active"),
}


@pytest.mark.parametrize(("observation", "seconds", "state"), RECOVERIES.values(), ids=RECOVERIES.keys())
def test_a_turn_that_only_the_screen_shows_and_that_stands_still_is_given_up(
    observation: Observation, seconds: float, state: str
) -> None:
    """The two recoveries of the contract, for sessions without hooks and transcript alone."""
    assert after((0, observation), (seconds, observation)).inferred.state == state


def test_a_recovery_invents_no_success() -> None:
    """Nobody knows how it ended."""
    state = after((0, ACTIVE), (5, ACTIVE), (60, READY))

    assert (state.turn.phase, state.turn.last.result, state.outcome) == ("ready", "none", "none")


def test_a_noted_turn_is_not_given_up_as_early() -> None:
    """Somebody said that a prompt went in."""
    noted = tracker.note_prompt(after((0, READY)), at=at(1))
    shown = tracker.observe(noted, ACTIVE, at=at(2), timings=TIMINGS)

    assert tracker.observe(shown, ACTIVE, at=at(8), timings=TIMINGS).inferred.state == "active"
    assert tracker.observe(shown, ACTIVE, at=at(22), timings=TIMINGS).inferred.state == "ready"


OUTCOMES: dict[str, tuple[Observation, float, tuple[str, str | None]]] = {
    "nobody tells yet": (READY, 5.0, ("none", None)),
    "nobody tells, and it stands there": (READY, 6.0, ("success", None)),
    "a hook says that it went well": (hook(READY, "ended", 4), 5.0, ("success", None)),
    "a hook says that it failed": (hook(READY, "failed", 4), 5.0, ("error", "api_error")),
    "the hook of an earlier turn": (hook(READY, "ended", -4), 60.0, ("none", None)),
    "the transcript is believed before a hook": (
        replace(hook(READY, "ended", 4), ended_turn=replace(ENDED, outcome="interrupted")),
        5.0,
        ("interrupted", None),
    ),
    "a mark on the screen": (screen("ready", outcome="interrupted"), 5.0, ("interrupted", None)),
    "an error on the screen": (
        screen("ready", outcome="error", error_kind="overloaded"),
        5.0,
        ("error", "overloaded"),
    ),
    "a limit is an error": (
        hook(screen("limited", outcome="error", error_kind="api_error"), "failed", 4),
        5.0,
        ("error", "api_error"),
    ),
    "the screen says which error a hook told of": (
        hook(screen("ready", outcome="error", error_kind="context_full"), "failed", 4),
        5.0,
        ("error", "context_full"),
    ),
}


@pytest.mark.parametrize(("observation", "seconds", "outcome"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_how_a_turn_ended(observation: Observation, seconds: float, outcome: tuple[str, str | None]) -> None:
    """The transcript, then a hook, then a mark on the screen; standing still only where no other speaks."""
    state = after((0, READY), (2, ACTIVE), (5.0, observation), (seconds, observation))

    assert (state.outcome, state.error_kind) == outcome


def test_a_hook_that_always_says_ended_proves_no_success() -> None:
    """Gemini's says the same after Escape."""
    over = hook(READY, "ended", 4)

    assert after((0, READY), (2, ACTIVE), (60, over), testimony=ALWAYS_ENDS).outcome == "none"


def test_each_witness_keeps_the_time_since_which_it_says_so() -> None:
    """Who repeats itself does not become younger."""
    state = after((0, READY), (1, ACTIVE), (9, hook(ACTIVE, "submitted", 0.5)))

    told = {source: (one.value, one.since) for source, one in state.evidence.items()}
    assert told == {
        "process": ("running", at(0)),
        "screen": ("active", at(1)),
        "hook": ("submitted", at(0.5)),
    }
    assert state.state_since == at(1)


def test_three_lasting_contradictions_within_an_hour_are_an_alarm() -> None:
    """One may be an accident; the alarm is raised once."""
    wrong = hook(ACTIVE, "ended", 5)
    steps: list[Step] = []
    alarms: list[datetime | None] = []
    state = tracker.initial(START)
    for turn in range(5):
        begin = turn * 100.0
        wrong = hook(ACTIVE, "ended", begin + 5)
        steps = [(begin, READY), (begin + 1, ACTIVE), (begin + 5, wrong), (begin + 9, wrong)]
        for seconds, observation in steps:
            state = tracker.observe(state, observation, at=at(seconds), timings=TIMINGS)
        alarms.append(state.drift.alerted_at)

    assert alarms == [None, None, at(209), at(209), at(209)]
    assert state.drift.count == 5


Due = Callable[[], TuiState]
DUES: dict[str, tuple[Due, float | None]] = {
    "nobody has looked": (lambda: tracker.initial(START), None),
    "a ready TUI": (lambda: after((0, READY)), None),
    "a turn without hooks": (lambda: after((0, ACTIVE)), 5.0),
    "a turn with hooks": (lambda: after((2, hook(ACTIVE, "submitted", 0.5))), 32.0),
    "a fresh hook": (lambda: after((0, READY), (0.1, hook(READY, "submitted", 0.0))), 1.0),
    "a limit": (lambda: after((0, screen("limited", resets="in 2 hours"))), 7200.0),
    "a turn without a proof": (lambda: after((0, ACTIVE), (2, READY)), 3.0),
}


@pytest.mark.parametrize(("made", "due"), DUES.values(), ids=DUES.keys())
def test_time_is_waited_for_only_where_it_can_change_something(made: Due, due: float | None) -> None:
    """An idle agent has no timer."""
    state = made()

    assert tracker.next_at(state, at=state.observed_at, timings=TIMINGS) == (None if due is None else at(due))
