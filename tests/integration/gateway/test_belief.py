"""What a gateway believes of a real TUI: every state, who says so, dialogs and limits."""

import json
import os
import signal
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayRefused
from posthouse.contracts import gateway_files as gf
from posthouse.terminal import session as terminal
from posthouse.testing.blocking_agent import Gate

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any


class Watched:
    """A ready TUI with its gateway."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.session = house.launch(headless=False)
        house.attach(self.session)
        self.client = house.client(self.session)
        self.until("ready")

    def until(self, state: str, **more: Any) -> dict[str, Any]:
        """The belief once it is *state*, with those other fields."""
        found: dict[str, Any] = {}

        def is_so() -> bool:
            found.update(self.client.tui_belief())
            return found["state"] == state and all(found[name] == value for name, value in more.items())

        self.house.until(is_so)
        return found

    def says(self) -> dict[str, str]:
        """Every witness's word."""
        return {one["source"]: one["says"] for one in self.client.tui_belief()["evidence"]}

    def keys(self, *keys: str) -> None:
        """Press as a person does."""
        pane = terminal.agent_pane(self.session.tmux, self.session.tmux_session_name)
        self.session.tmux.run("send-keys", "-t", pane.pane_id, *keys)

    def told(self, *kinds: str) -> list[dict[str, Any]]:
        lines = (self.session.gateway_root / gf.EVENTS).read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["kind"] in kinds]


@pytest.fixture
def watched(house: House) -> Watched:
    return Watched(house)


def test_every_state_of_a_persons_own_turn_is_told(watched: Watched) -> None:
    """A draft, its turn, input that waits, how it ended; in order, and each once."""
    watched.keys("-l", "first [[wait 600]]")
    watched.until("draft", draft="first [[wait 600]]")
    watched.keys("Enter")
    watched.until("active")
    watched.keys("-l", "second")
    watched.until("active", draft="second")
    watched.keys("Enter")
    watched.until("queued")
    watched.keys("Escape")
    watched.until("ready", outcome="success")

    # The hook that tells of the end comes a moment after the transcript does.
    says = {
        "hook": "ended",
        "transcript": "success",
        "process": "running",
        "title": "idle",
        "screen": "ready",
    }
    watched.house.until(lambda: watched.says() == says)
    states = [event["state"] for event in watched.told("tui_state")]
    once = [state for state, before in zip(states, ["", *states], strict=False) if state != before]
    begun = once.index("draft")
    # The queued prompt's own turn may be too quick to be seen between two looks.
    assert once[begun : begun + 3] == ["draft", "active", "queued"]
    assert once[-1] == "ready"


def test_a_question_is_seen_and_answered_by_its_label(watched: Watched) -> None:
    """The choices are told; the answer goes in, and the turn goes on with it."""
    watched.client.submit_prompt("choose [[ask Which? | red | blue]]")
    belief = watched.until("blocked")
    house, session = watched.house, watched.session

    with pytest.raises(GatewayRefused, match=r"2\. blue"):
        watched.client.answer("green")
    answered = watched.client.answer("blue", dialog="question")
    watched.until("ready", outcome="success")

    assert belief["dialog"] == {
        "name": "question",
        "choices": [
            {"number": 1, "label": "red", "selected": True},
            {"number": 2, "label": "blue", "selected": False},
        ],
    }
    assert (answered["outcome"], answered["choice"]["label"]) == ("answered", "blue")
    house.until(lambda: any(e["text"] == "question" for e in house.truth(session).events("dialog_answer")))
    assert [event["choice"] for event in house.truth(session).events("dialog_answer")] == [1]
    with pytest.raises(GatewayRefused, match="no dialog is open"):
        watched.client.answer("blue")


def test_a_rule_answers_and_says_so(watched: Watched) -> None:
    """Only the dialog that it is about."""
    watched.client.set_answer_rules([{"dialog": "permission", "choice": "yes"}])

    watched.client.submit_prompt("work [[permission echo allowed]]")
    watched.until("ready", outcome="success")

    watched.house.until(lambda: watched.told("dialog_answered") != [])
    [answer] = watched.told("dialog_answered")
    assert (answer["dialog"], answer["by"], answer["outcome"]) == ("permission", "rule", "answered")


def test_the_queue_waits_for_a_limit_to_end(watched: Watched) -> None:
    """What was accepted meanwhile is carried out afterwards, and nothing is failed for it."""
    watched.client.submit_prompt("too much [[fail limit 5]]")
    watched.until("limited", outcome="error")
    watched.client.submit_prompt("after the limit")
    parked = watched.client.limit()

    watched.house.settle(watched.session)
    belief = watched.until("ready", outcome="success")

    assert parked["is_parked"]
    assert belief["resets_at_utc"] is None
    assert [event["kind"] for event in watched.told("limited", "limit_over")] == ["limited", "limit_over"]
    assert watched.house.truth(watched.session).prompts()[-1] == "after the limit"


def test_errors_interruptions_and_the_end_have_their_own_words(watched: Watched) -> None:
    """Each outcome is proved by somebody; a program that ended says nothing more."""
    watched.client.submit_prompt("too long [[fail context]]")
    failed = watched.until("ready", outcome="error")
    watched.client.submit_prompt("long [[say one]] [[wait 600]]")
    watched.until("active")
    watched.client.interrupt()
    watched.until("ready", outcome="interrupted")
    pane = terminal.agent_pane(watched.session.tmux, watched.session.tmux_session_name)
    os.kill(pane.pid, signal.SIGKILL)
    gone = watched.until("exited")

    assert failed["error_kind"] == "context_full"
    assert gone["decided_by"] == ["process"]


def test_a_person_who_scrolls_and_resizes_confuses_nobody(watched: Watched) -> None:
    """The turn is followed all the same, and what is typed waits until scrolling ends."""
    tmux, name = watched.session.tmux, watched.session.tmux_session_name
    pane = terminal.agent_pane(tmux, name).pane_id

    tmux.run("copy-mode", "-t", pane)
    watched.until("ready", is_scrolled=True)
    tmux.run("send-keys", "-t", pane, "-X", "cancel")
    watched.until("ready", is_scrolled=False)
    gate = Gate(watched.house.folder)
    watched.keys("-l", f"by hand {gate.closed}")
    watched.until("draft")
    watched.keys("Enter")
    watched.until("active")
    tmux.run("resize-window", "-t", f"={name}:0", "-x", "60", "-y", "15")
    gate.open()
    watched.until("ready", outcome="success")

    assert watched.told("tui_disagreement", "tui_drift") == []
