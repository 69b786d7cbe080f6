"""What a screen of the scripted agent says, in every look and at any size."""

from dataclasses import replace

import pytest

from posthouse.terminal.screen import Choice, Screen, Surface
from posthouse.tools.scripted import appearance, dialog, surface, view
from posthouse.tools.scripted.appearance import Appearance
from posthouse.tools.scripted.view import Labels, LiveView

LOOKS = {"plain": appearance.PLAIN, "codex": appearance.CODEX, "gemini": appearance.GEMINI}
SIZES = [(120, 40), (40, 12)]


def _view(look: Appearance, columns: int, rows: int) -> LiveView:
    return LiveView(
        appearance=look,
        labels=Labels(folder="proj", path="/home/me/proj", model="m"),
        columns=columns,
        rows=rows,
        draft="",
        cursor=0,
        tail="",
        active_seconds=None,
        queued=(),
        dialog=None,
        notice="",
        is_up=True,
    )


def _screen(shown: LiveView, *above: str) -> Screen:
    frame = view.frame(shown)
    rows = (*above, *frame.rows)
    filled = rows + ("",) * (shown.rows - len(rows))
    return Screen(rows=filled, title=view.title(shown) or "vm", cursor=frame.cursor)


@pytest.fixture(params=[(name, *size) for name in LOOKS for size in SIZES], ids=str)
def idle(request: pytest.FixtureRequest) -> LiveView:
    """An idle screen in each look and size."""
    name, columns, rows = request.param
    return _view(LOOKS[name], columns, rows)


def test_an_empty_composer_is_ready(idle: LiveView) -> None:
    """A placeholder is no draft."""
    assert surface.read(_screen(idle)) == Surface(
        state="ready", evidence=("an empty composer and an idle title",), composer="", title="idle"
    )


def test_a_draft_is_read_as_it_stands(idle: LiveView) -> None:
    """The composer's text is told, line by line."""
    drafted = replace(idle, draft="fix the\nbug", cursor=0)

    assert surface.read(_screen(drafted)) == Surface(
        state="draft", evidence=("a draft in the composer",), composer="fix the\nbug", title="idle"
    )


def test_a_numbered_draft_is_no_dialog(idle: LiveView) -> None:
    """What a person writes is never mistaken for a question."""
    drafted = replace(idle, draft="1. first of all", cursor=0)

    assert surface.read(_screen(drafted)).state == "draft"


def test_a_running_turn_is_active_whatever_stands_in_the_composer(idle: LiveView) -> None:
    """The title tells, because a draft hides the other marks."""
    running = replace(idle, active_seconds=1.2, draft="next", cursor=4)
    seen = surface.read(_screen(running))

    assert (seen.state, seen.composer) == ("active", "next")


@pytest.mark.parametrize(
    "asked",
    [
        dialog.permission("rm -rf x"),
        dialog.trust("/home/me/proj"),
        dialog.question("Which?", ("red", "blue")),
    ],
    ids=lambda asked: str(asked.kind),
)
@pytest.mark.parametrize("selected", [0, 1])
def test_a_dialog_blocks(idle: LiveView, asked: dialog.Dialog, selected: int) -> None:
    """A question is recognised by its shape, whichever choice is marked."""
    running = replace(idle, active_seconds=1.0, dialog=replace(asked, selected=selected))

    found = surface.read(_screen(running))

    assert (found.state, found.evidence, found.dialog) == ("blocked", (f"dialog: {asked.kind}",), asked.kind)
    assert found.choices == tuple(
        Choice(number=number, label=label, is_selected=number == selected + 1, keys=(str(number),))
        for number, label in enumerate(asked.choices, 1)
    )


LEFT: dict[str, tuple[tuple[str, ...], dict[str, object]]] = {
    "an answer": (("{past}hi", "{answer}Hello!"), {"outcome": "success"}),
    "nothing was asked": (("{answer}Welcome",), {}),
    "an interruption": (("{past}hi", "{interrupted}"), {"outcome": "interrupted"}),
    "an old interruption": (
        ("{past}hi", "{interrupted}", "{past}go on", "{answer}Done"),
        {"outcome": "success"},
    ),
    "an error": (
        ("{past}hi", "\x1b[33mAPI Error: 400 no", "\x1b[33m"),
        {"outcome": "error", "error_kind": "api_error"},
    ),
    "too much load": (
        ("{past}hi", "\x1b[33mAPI Error: 529 Overloaded\x1b[0m"),
        {"outcome": "error", "error_kind": "overloaded"},
    ),
    "too long a prompt": (
        ("{past}hi", "\x1b[33mPrompt is too long\x1b[0m"),
        {"outcome": "error", "error_kind": "context_full"},
    ),
    "a limit": (
        ("{past}hi", "\x1b[33mUsage limit reached · resets 2026-06-05T00:00:00+00:00\x1b[0m"),
        {
            "state": "limited",
            "outcome": "error",
            "error_kind": "api_error",
            "resets": "2026-06-05T00:00:00+00:00",
        },
    ),
    "an answer that quotes an error": (("{past}hi", "{answer}API Error: 400 no"), {"outcome": "success"}),
}


@pytest.mark.parametrize(("rows", "told"), LEFT.values(), ids=LEFT.keys())
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_what_the_last_turn_left(look: Appearance, rows: tuple[str, ...], told: dict[str, object]) -> None:
    """Only what stands below the last prompt counts, and an error only in its colour."""
    words = {"past": look.past_marker, "answer": look.answer_marker, "interrupted": look.interrupted}
    found = surface.read(_screen(_view(look, 120, 40), *(row.format(**words) for row in rows)))

    seen = {name: getattr(found, name) for name in ("state", "outcome", "error_kind", "resets")}
    assert seen == {"state": "ready", "outcome": "none", "error_kind": None, "resets": None, **told}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_input_that_waits_for_the_turn_is_told(look: Appearance) -> None:
    """Somebody typed on while it worked."""
    shown = replace(_view(look, 120, 40), active_seconds=1.0, queued=("then this",))

    assert surface.read(_screen(shown, f"{look.past_marker}hi")).state == "queued"


def test_an_answer_that_looks_like_a_dialog_is_none(idle: LiveView) -> None:
    """Only what stands in the composer's place can eat a prompt."""
    above = (f" {idle.appearance.selector} 1. Yes", "   2. No", " Esc to cancel")

    assert surface.read(_screen(idle, *above)).state == "ready"


def test_a_composer_painted_too_early_is_starting() -> None:
    """A first picture of the composer is not a program that listens."""
    for look in LOOKS.values():
        seen = surface.read(_screen(replace(_view(look, 120, 40), is_up=False)))

        assert (seen.state, seen.composer) == ("starting", "")


@pytest.mark.parametrize(
    ("screen", "state"),
    [
        pytest.param(Screen(rows=("", ""), title="vm", cursor=(0, 0)), "starting", id="nothing yet"),
        pytest.param(Screen(rows=("$ ls",), title="vm", cursor=(0, 0)), "unknown", id="some other program"),
        pytest.param(
            Screen(rows=("bye",), title="✳ scripted", cursor=(0, 0), dead=True), "exited", id="dead"
        ),
        pytest.param(
            Screen(rows=("odd",), title="[ ! ] Action Required | x", cursor=(0, 0)),
            "blocked",
            id="title alone",
        ),
    ],
)
def test_without_a_composer(screen: Screen, state: str) -> None:
    """What is not understood is not guessed."""
    assert surface.read(screen).state == state


def test_a_coloured_draft_is_a_draft() -> None:
    """Numbers of a colour are no attributes."""
    rule = "─" * 40
    screen = Screen(
        rows=(rule, "❯\u00a0\x1b[38;5;2mhi\x1b[39m", rule, "  ? for shortcuts"),
        title="✳ scripted",
        cursor=(4, 1),
    )

    assert surface.read(screen).composer == "hi"
