"""What a surface says about typing."""

import pytest

from posthouse.terminal.screen import Screen, Surface, SurfaceState
from posthouse.terminal.signs import Signs, holds_text, refusal


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


@pytest.mark.parametrize(
    ("looks", "acknowledged", "was_busy", "seen"),
    [
        pytest.param([_surface("active", "")], False, False, ("started", "composer_empty"), id="started"),
        pytest.param(
            [_surface("ready", "")], True, False, ("acknowledged", "composer_empty"), id="done at once"
        ),
        pytest.param([_surface("blocked")], True, False, ("acknowledged", "started"), id="asks permission"),
        pytest.param([_surface("exited")], True, False, ("acknowledged", "exited"), id="crashed on it"),
        pytest.param(
            [_surface("active", ""), _surface("draft", "x")], False, False, ("started",), id="repaint"
        ),
        pytest.param(
            [_surface("active"), _surface("ready", "")],
            False,
            False,
            ("started", "composer_empty"),
            id="quick",
        ),
        pytest.param([_surface("draft", "x")], False, False, (), id="still there"),
        pytest.param([_surface("ready", "")], False, False, ("composer_empty",), id="only gone"),
        pytest.param([_surface("active", "")], False, True, ("composer_empty", "queued"), id="queued"),
        pytest.param([_surface("active", "x")], False, True, (), id="was at work anyway"),
    ],
)
def test_signs_of_a_prompt_taken(
    looks: list[Surface], acknowledged: bool, was_busy: bool, seen: tuple[str, ...]
) -> None:
    """Two signs agree or nothing is claimed."""
    signs = Signs(lambda: acknowledged, was_busy=was_busy)

    for surface in looks:
        signs.look(surface)

    assert (signs.seen, signs.agree) == (seen, len(seen) >= 2)


def test_a_second_enter_needs_text_and_an_idle_agent() -> None:
    """Never into an empty composer, a dialog or a working agent."""
    surfaces = [
        _surface("draft", "x"),
        _surface("ready", "x"),
        _surface("ready", ""),
        _surface("active", "x"),
        _surface("blocked"),
        _surface("exited"),
    ]

    assert [holds_text(surface) for surface in surfaces] == [True, True, False, False, False, False]
