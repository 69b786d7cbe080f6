"""Dialogs over HTTP: seen, answered by name or number, and by rules that the user wrote."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from posthouse.gateway.control.answer_rules import FILE
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.terminal.keys import Key, LiteralText
from posthouse.terminal.screen import Choice
from posthouse.testing.gateway import Answer, FakeAgent, call

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
ANSWER = "/v1/control/tui/answer"
RULES = "/v1/control/tui/answer-rules"
CHOICES = (
    Choice(number=1, label="Yes", is_selected=True, keys=("1",)),
    Choice(number=2, label="Yes, and don't ask again", keys=("2",)),
    Choice(number=3, label="No", keys=("Down", "Down", "Enter")),
)


def asking() -> FakeAgent:
    """An agent that asks, until something is pressed."""
    made = FakeAgent(is_headless=False)
    made.appear()
    made.show("blocked", composer=None, dialog="permission", choices=CHOICES)
    made.on_press = lambda: made.show("active")
    return made


async def ask(gateway: Gateway, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
    return await call(app.build(gateway), method, path, body)


def told(session: Session, *kinds: str) -> list[dict[str, Any]]:
    """The events of those kinds, without their times."""
    lines = (session.gateway_root / "events.jsonl").read_text().splitlines()
    events = [event for event in map(json.loads, lines) if event["kind"] in kinds]
    return [{name: value for name, value in event.items() if not name.endswith("_utc")} for event in events]


ASKED: dict[str, tuple[Any, tuple[LiteralText | Key, ...], int]] = {
    "by number": (2, (LiteralText("2"),), 2),
    "by a number in words": ("2", (LiteralText("2"),), 2),
    "by its label": ("yes", (LiteralText("1"),), 1),
    "by the beginning of its label": ("yes, and", (LiteralText("2"),), 2),
    "by moving to it": ("No", (Key("Down"), Key("Down"), Key("Enter")), 3),
}


@pytest.mark.parametrize(("asked", "pressed", "number"), ASKED.values(), ids=ASKED.keys())
def test_a_choice_is_made_by_name_or_number(
    opened: Opener, made_session: Session, asked: Any, pressed: tuple[LiteralText | Key, ...], number: int
) -> None:
    """The answer says that the dialog went away, and so does the journal."""

    async def story() -> None:
        made = asking()
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", ANSWER, {"choice": asked, "dialog": "permission"})

        label = CHOICES[number - 1].label
        assert (answer.status, answer.body) == (
            200,
            {
                "dialog": "permission",
                "choice": {"number": number, "label": label, "selected": number == 1},
                "outcome": "answered",
                "state": "active",
            },
        )
        assert made.pressed == [pressed]
        assert told(made_session, "dialog_opened", "dialog_answered") == [
            {
                "kind": "dialog_opened",
                "dialog": "permission",
                "choices": ["Yes", "Yes, and don't ask again", "No"],
            },
            {
                "kind": "dialog_answered",
                "dialog": "permission",
                "choice": f"{number}. {label}",
                "by": "caller",
                "outcome": "answered",
            },
        ]

    asyncio.run(story())


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "another dialog": ({"choice": 1, "dialog": "trust"}, 409, "the open dialog is 'permission', not 'trust'"),
    "no such number": ({"choice": 9}, 422, "1. Yes; 2. Yes, and don't ask again; 3. No"),
    "no such label": ({"choice": "maybe"}, 422, "1. Yes; 2. Yes, and don't ask again; 3. No"),
    "two such labels": ({"choice": "ye"}, 422, "1. Yes; 2. Yes, and don't ask again; 3. No"),
}


@pytest.mark.parametrize(("body", "status", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_offered_is_refused_with_what_is(
    opened: Opener, body: dict[str, Any], status: int, words: str
) -> None:
    """Nothing is pressed."""

    async def story() -> None:
        made = asking()
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", ANSWER, body)

        assert (answer.status, made.pressed) == (status, [])
        assert words in answer.body["detail"]

    asyncio.run(story())


def test_nothing_is_pressed_when_nothing_is_asked(opened: Opener) -> None:
    """A digit would land in the composer."""

    async def story() -> None:
        made = FakeAgent(is_headless=False)
        made.appear()
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", ANSWER, {"choice": 1})

        assert (answer.status, made.pressed) == (409, [])
        assert answer.body["detail"] == "no dialog is open; the TUI is ready"

    asyncio.run(story())


def test_the_next_question_of_the_same_kind_means_that_this_one_is_answered(opened: Opener) -> None:
    """Its hook says so, although the screen looks the same."""

    async def story() -> None:
        made = asking()
        made.on_press = lambda: made.hear("asking", clock.now())
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", ANSWER, {"choice": 1})

        assert answer.body["outcome"] == "answered"

    asyncio.run(story())


def test_a_dialog_that_stays_is_not_called_answered(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys were pressed, and nobody claims more."""
    monkeypatch.setattr("posthouse.gateway.control.tui_dialogs._GONE_SECONDS", 0.05)

    async def story() -> None:
        made = asking()
        made.on_press = lambda: None
        async with opened(made) as gateway:
            answer = await ask(gateway, "POST", ANSWER, {"choice": 1})

        assert (answer.status, answer.body["outcome"], answer.body["state"]) == (
            200,
            "unconfirmed",
            "blocked",
        )

    asyncio.run(story())


def test_nothing_answers_by_itself_unless_a_rule_says_so(
    opened: Opener, made_session: Session, until: Until
) -> None:
    """The rule is on disk, acts once for each dialog, and is told as what it is."""

    async def story() -> None:
        made = asking()
        async with opened(made) as gateway:
            before = (await ask(gateway, "GET", RULES)).body
            rules = {"rules": [{"dialog": "permission", "choice": "yes"}]}
            kept = await ask(gateway, "PUT", RULES, rules)
            pressed_before = list(made.pressed)
            made.show("active")
            made.show("blocked", composer=None, dialog="trust", choices=CHOICES)
            made.show("active")
            made.show("blocked", composer=None, dialog="permission", choices=CHOICES)
            await until(lambda: bool(told(made_session, "dialog_answered")))

        assert (before, kept.body, pressed_before) == ({"rules": []}, rules, [])
        assert json.loads((made_session.root / FILE).read_text()) == rules
        assert made.pressed == [(LiteralText("1"),)]
        assert [event["by"] for event in told(made_session, "dialog_answered")] == ["rule"]

    asyncio.run(story())


def test_rules_outlive_their_gateway_and_broken_ones_answer_nothing(
    opened: Opener, made_session: Session, until: Until
) -> None:
    """The next gateway reads them again."""
    rules = {"rules": [{"dialog": "permission", "choice": "no"}]}

    async def story(content: str) -> FakeAgent:
        (made_session.root / FILE).write_text(content)
        made = asking()
        async with opened(made) as gateway:
            shown = (await ask(gateway, "GET", RULES)).body
            if shown["rules"]:
                await until(lambda: bool(made.pressed))
        return made

    broken = asyncio.run(story("{"))
    followed = asyncio.run(story(json.dumps(rules)))

    assert (broken.pressed, followed.pressed) == ([], [(Key("Down"), Key("Down"), Key("Enter"))])
