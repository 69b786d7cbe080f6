"""How events read in a terminal."""

import json
from typing import Any

import pytest

from posthouse.contracts.events import CanonicalEvent, Detail, Kind, Style
from posthouse.turns.render import Renderer, clean


def event(kind: Kind, message: str = "", **data: Any) -> CanonicalEvent:
    return CanonicalEvent(
        kind=kind,
        message=message,
        turn_index=1,
        provider="claude",
        provider_event_type="type",
        timestamp_utc="T",
        session_id="s1",
        data=data,
        raw_payload={"raw": True},
    )


TURN = (
    event("session", "started"),
    event("progress", "init"),
    event("reasoning", "hm", text="hm\nwell"),
    event("action_request", "Bash(ls)"),
    event("action_result", "a b", status="success"),
    event("assistant", "two", text="two\nlines\n"),
    event("diagnostic", "first", text="first\nsecond"),
    event("passthrough", "other"),
    event("completion", "two", status="success", duration_ms=1234, total_cost_usd=0.5),
)


def rendered(style: Style, detail: Detail, *events: CanonicalEvent) -> str:
    renderer = Renderer(style, detail)
    return "".join(renderer.feed(event) for event in events)


def test_plain_and_concise_show_the_answer_and_what_was_done() -> None:
    """The default shows no thoughts, no progress and no escape sequence."""
    assert rendered("plain", "concise", *TURN) == (
        "session: s1\n> Bash(ls)\n< success: a b\ntwo\nlines\n! first\ndone: success, 1.2 s, $0.5000\n"
    )


def test_plain_and_detail_show_everything() -> None:
    """Further lines stand under the first."""
    assert rendered("plain", "detail", *TURN) == (
        "session: s1\n... init\nthinking: hm\n          well\n> Bash(ls)\n< success: a b\ntwo\nlines\n"
        "! first\n  second\n~ other\ndone: success, 1.2 s, $0.5000\n"
    )


def test_fancy_has_colours_that_end_on_their_line() -> None:
    """A colour never runs into the next line; a bad end looks like one."""
    shown = rendered("fancy", "concise", TURN[3], event("completion", status="error"))

    assert shown == "\x1b[36m▸ Bash(ls)\x1b[0m\n\x1b[1;31m✘ error\x1b[0m\n"


@pytest.mark.parametrize("detail", ["concise", "detail"])
def test_json_is_one_public_event_per_line(detail: Detail) -> None:
    """A program reads back what the turn's events route would tell."""
    lines = rendered("json", detail, *TURN).splitlines()

    assert [json.loads(line) for line in lines] == [event.public(detail) for event in TURN]


def test_an_answer_in_pieces_runs_together() -> None:
    """Pieces join; whatever comes next begins its own line."""
    pieces = (event("assistant", text="Hel", delta=True), event("assistant", text="lo", delta=True))

    assert rendered("plain", "concise", *pieces, TURN[3], TURN[3]) == "Hello\n> Bash(ls)\n> Bash(ls)\n"


def test_nothing_in_a_text_steers_the_terminal() -> None:
    """Escape sequences of a model or a tool are text, not orders."""
    text = "a\x1b]52;c;eA==\x07b\x9b31mc\rd\te\r\nf"

    assert clean(text) == "a\\x1b]52;c;eA==\\x07b\\x9b31mc\\x0dd\te\nf"
    assert rendered("fancy", "detail", event("assistant", text="\x1b[2J")) == "\\x1b[2J\n"


def test_a_note_is_a_line_of_its_own_except_for_programs() -> None:
    """What no event says is told to people only."""
    plain, program = Renderer("plain", "concise"), Renderer("json", "concise")
    plain.feed(event("assistant", text="open", delta=True))

    assert (plain.note("the end"), program.note("the end")) == ("\nthe end\n", "")


def test_fancy_without_colours_keeps_its_marks() -> None:
    """What goes to a file or to a terminal without colours has no escape sequence."""
    renderer = Renderer("fancy", "concise", colour=False)

    assert renderer.feed(event("completion", "two", status="success")) == "✔ success\n"
