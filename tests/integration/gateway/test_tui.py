"""The state of a real TUI through its life."""

import os
import signal
from typing import Any

from posthouse.terminal import session as terminal
from posthouse.testing.blocking_agent import Gate

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any


def started(house: House) -> Any:
    """A ready TUI with its gateway: session and client."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    house.until(lambda: client.tui_state()["surface"]["ready_posture"] == "yes")
    return session, client


def last(client: Any) -> tuple[str, str]:
    turn = client.tui_state()["last_turn"]
    return turn["result"], turn["source"]


def test_a_queued_prompt_is_noted_and_its_end_is_known(house: House) -> None:
    """Active while it runs, then how it ended and how we know of it."""
    _, client = started(house)
    before = last(client)

    gate = Gate(house.folder)
    client.submit_prompt(f"work {gate.closed} [[say done]]")
    house.until(lambda: client.tui_state()["turn"]["phase"] == "active")
    gate.open()
    house.until(lambda: last(client) == ("success", "explicit_input"))

    assert before == ("none", "none")
    phases = [entry["turn"]["phase"] for entry in client.tui_history()["entries"]]
    assert phases[-1] == "ready"
    assert "active" in phases


def test_what_a_person_types_is_seen_too(house: House) -> None:
    """A turn that nobody noted is known from the screen."""
    session, client = started(house)
    pane = terminal.agent_pane(session.tmux, session.tmux_session_name)

    gate = Gate(house.folder)
    session.tmux.run("send-keys", "-t", pane.pane_id, "-l", f"by hand {gate.closed}")
    house.until(lambda: client.tui_state()["surface"]["editing_input"] == "yes")
    session.tmux.run("send-keys", "-t", pane.pane_id, "Enter")
    house.until(lambda: client.tui_state()["turn"]["phase"] == "active")
    gate.open()

    house.until(lambda: last(client) == ("success", "surface_inference"))


def test_an_interrupted_turn_is_no_success(house: House) -> None:
    """The transcript tells, for the screen looks the same."""
    session, client = started(house)
    client.submit_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)

    client.interrupt()

    house.until(lambda: last(client) == ("interrupted", "explicit_input"))


def test_a_dialog_waits_for_its_person(house: House) -> None:
    """It is told what kind of question it is."""
    _, client = started(house)

    client.submit_prompt("ask [[permission]]")
    house.until(lambda: client.tui_state()["parsed_surface"]["input_mode"] == "modal")

    state = client.tui_state()
    assert state["surface"]["accepting_input"] == "no"
    parsed = state["parsed_surface"]
    assert (parsed["business_state"], parsed["ui_context"]) == ("awaiting_operator", "approval_prompt")


def test_a_program_and_a_session_that_ended_are_told_apart(house: House) -> None:
    """First the TUI is down, then tmux has no such session."""
    session, client = started(house)
    pane = terminal.agent_pane(session.tmux, session.tmux_session_name)

    os.kill(pane.pid, signal.SIGKILL)
    house.until(lambda: client.tui_state()["diagnostics"]["availability"] == "tui_down")
    down = client.tui_state()["diagnostics"]
    terminal.kill(session.tmux, session.tmux_session_name)
    house.until(lambda: client.tui_state()["diagnostics"]["availability"] == "unavailable")
    gone = client.tui_state()["diagnostics"]

    states = ("transport_state", "process_state", "parse_status")
    assert [down[name] for name in states] == ["tmux_up", "tui_down", "skipped_tui_down"]
    assert [gone[name] for name in states] == ["tmux_missing", "unknown", "transport_unavailable"]
