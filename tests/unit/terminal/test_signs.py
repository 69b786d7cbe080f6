"""What a surface says about typing."""

import pytest

from posthouse.terminal.screen import Screen, Surface, SurfaceState
from posthouse.terminal.signs import SubmissionSigns, refusal


def _surface(state: SurfaceState, composer: str | None = None, dialog: str | None = None) -> Surface:
    return Surface(state=state, evidence=("seen",), composer=composer, dialog=dialog)


def _screen(*, in_mode: bool = False) -> Screen:
    return Screen(rows=(), title="", cursor=(0, 0), in_mode=in_mode)


@pytest.mark.parametrize(
    ("surface", "while_busy", "reason"),
    [
        pytest.param(_surface("ready", ""), False, None, id="an empty composer of an idle agent"),
        pytest.param(_surface("draft", "hello"), False, "draft", id="somebody's draft"),
        pytest.param(
            _surface("ready", "hello"), False, "draft", id="text in the composer, whatever the state"
        ),
        pytest.param(_surface("active", ""), False, "active", id="at work"),
        pytest.param(_surface("active", ""), True, None, id="at work and allowed to queue"),
        pytest.param(_surface("active", "hello"), True, "draft", id="at work over a draft"),
        pytest.param(_surface("active"), True, "active", id="at work without a composer"),
        pytest.param(_surface("blocked", None, "permission"), True, "blocked:permission", id="a dialog"),
        pytest.param(_surface("blocked"), False, "blocked:dialog", id="a dialog without a name"),
        pytest.param(_surface("starting", ""), False, "starting", id="painted before it listens"),
        pytest.param(_surface("exited"), False, "exited", id="ended"),
        pytest.param(_surface("unknown"), False, "unknown", id="not understood"),
    ],
)
def test_why_not_to_type(surface: Surface, while_busy: bool, reason: str | None) -> None:
    """Only an understood, idle, empty composer may be typed into."""
    assert refusal(_screen(), surface, while_busy=while_busy) == reason


def test_nobody_types_under_a_person_who_scrolls() -> None:
    """Copy mode comes before everything else."""
    assert refusal(_screen(in_mode=True), _surface("ready", ""), while_busy=True) == "someone scrolls"


_EMPTY, _TEXT = _surface("active", ""), _surface("active", "x")


@pytest.mark.parametrize(
    ("looks", "acknowledged", "was_busy", "seen"),
    [
        pytest.param([(0, _EMPTY), (1, _EMPTY)], False, False, ("started", "composer_empty"), id="started"),
        pytest.param(
            [(0, _surface("ready", ""))], True, False, ("acknowledged", "composer_empty"), id="done at once"
        ),
        pytest.param(
            [(0, _surface("blocked"))], True, False, ("acknowledged", "started"), id="asks permission"
        ),
        pytest.param([(0, _surface("exited"))], True, False, ("acknowledged", "exited"), id="crashed on it"),
        pytest.param([(0, _EMPTY)], False, False, ("started",), id="empty for a moment, at the start"),
        pytest.param([(0, _EMPTY)], False, True, (), id="empty for a moment, at work"),
        pytest.param(
            [(0, _EMPTY), (0.1, _TEXT), (1, _EMPTY)], False, True, (), id="empty now and then: it repaints"
        ),
        pytest.param([(0, _EMPTY), (1, _surface("draft", "x"))], False, False, ("started",), id="repaint"),
        pytest.param(
            [(0, _surface("active")), (1, _surface("ready", "")), (2, _surface("ready", ""))],
            False,
            False,
            ("started", "composer_empty"),
            id="quick",
        ),
        pytest.param([(0, _surface("draft", "x"))], False, False, (), id="still there"),
        pytest.param(
            [(0, _surface("ready", "")), (1, _surface("ready", ""))],
            False,
            False,
            ("composer_empty",),
            id="only gone",
        ),
        pytest.param([(0, _EMPTY), (1, _EMPTY)], False, True, ("composer_empty", "queued"), id="queued"),
        pytest.param([(0, _TEXT)], False, True, (), id="was at work anyway"),
    ],
)
def test_signs_of_a_prompt_taken(
    looks: list[tuple[float, Surface]], acknowledged: bool, was_busy: bool, seen: tuple[str, ...]
) -> None:
    """Two signs agree or nothing is claimed; a composer that a repaint empties is no sign."""
    signs = SubmissionSigns(lambda: acknowledged, was_busy=was_busy)

    for now, surface in looks:
        signs.observe(surface, now)

    assert (signs.seen, signs.is_confirmed) == (seen, len(seen) >= 2)
