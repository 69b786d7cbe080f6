"""What the options of `reminders create` and `set` ask for."""

from argparse import Namespace
from typing import Any

import pytest

from posthouse.cli.commands import gateway_reminders as commands
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser

NEW = ["--title", "t", "--mode", "one_off", "--prompt", "p", "--ranking", "1", "--start-after-seconds", "5"]
OLD: dict[str, Any] = {
    "reminder_id": "greminder-1",
    "mode": "repeat",
    "title": "old",
    "prompt": None,
    "send_keys": {"sequence": "x", "ensure_enter": False},
    "ranking": 3,
    "paused": True,
    "interval_seconds": 60.0,
    "next_due_at_utc": "2026-06-05T00:00:00.000000+00:00",
}
KEPT = {
    "mode": "repeat",
    "title": "old",
    "prompt": None,
    "send_keys": {"sequence": "x", "ensure_enter": False},
    "ranking": 3,
    "paused": True,
    "interval_seconds": 60.0,
    "deliver_at_utc": "2026-06-05T00:00:00.000000+00:00",
}


def parsed(*words: str) -> Namespace:
    parser = Parser(prog="create")
    commands.create_arguments(parser)
    return parser.parse(words)


def without(option: str) -> list[str]:
    place = NEW.index(option)
    return NEW[:place] + NEW[place + 2 :]


BAD = {
    "no prompt and no keys": without("--prompt"),
    "both": [*NEW, "--sequence", "x"],
    "no place": without("--ranking"),
    "two places": [*NEW, "--before-all"],
    "no time": without("--start-after-seconds"),
    "two times": [*NEW, "--deliver-at-utc", "2030-01-01T00:00:00Z"],
    "an enter without keys": [*NEW, "--ensure-enter"],
    "no title": without("--title"),
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD.keys())
def test_a_new_reminder_needs_exactly_one_of_each(words: list[str]) -> None:
    """The command line is wrong before anybody is asked."""
    with pytest.raises(UsageError):
        commands._check(parsed(*words), is_new=True)


def test_only_what_was_given_goes_over_the_wire() -> None:
    """The rest is the gateway's default."""
    keys = [*without("--prompt"), "--sequence", "x", "--no-ensure-enter", "--paused"]

    assert commands._given(parsed(*NEW)) == {
        "title": "t",
        "mode": "one_off",
        "prompt": "p",
        "start_after_seconds": 5.0,
    }
    given = commands._given(parsed(*keys))
    assert (given["send_keys"], given["paused"]) == ({"sequence": "x", "ensure_enter": False}, True)


@pytest.mark.parametrize(
    ("words", "others", "ranking"),
    [
        (["--ranking", "7"], [1, 2], 7),
        (["--before-all"], [-4, 2], -5),
        (["--after-all"], [-4, 2], 3),
        (["--before-all"], [], -1),
    ],
)
def test_a_place_among_the_others(words: list[str], others: list[int], ranking: int) -> None:
    """Before or after all of them, or where it was told."""
    asked = parsed(*without("--ranking"), *words)

    assert commands._ranking(asked, [{"ranking": other} for other in others]) == ranking


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "a title": ({"title": "new"}, {"title": "new"}),
    "a prompt instead of keys": ({"prompt": "p"}, {"prompt": "p", "send_keys": None}),
    "other keys": (
        {"send_keys": {"sequence": "y"}},
        {"send_keys": {"sequence": "y", "ensure_enter": False}},
    ),
    "another time": (
        {"start_after_seconds": 5.0},
        {"start_after_seconds": 5.0, "deliver_at_utc": None},
    ),
    "once only": ({"mode": "one_off"}, {"mode": "one_off", "interval_seconds": None}),
}


@pytest.mark.parametrize(("given", "changed"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_keeps_what_it_does_not_name(given: dict[str, Any], changed: dict[str, Any]) -> None:
    """The whole definition is sent, because the gateway replaces all of it."""
    assert commands.merge(OLD, given) == {**KEPT, **changed}
