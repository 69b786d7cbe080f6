"""Direct control of real agents: prompts, keys and fresh conversations, as the agent itself saw them."""

from typing import Any

import pytest

from posthouse.clients.gateway import GatewayConflict, GatewayInvalid
from posthouse.sessions.launch import LaunchSpec
from posthouse.testing.blocking_agent import Gate

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any

BOTH = pytest.mark.parametrize("headless", [True, False], ids=["headless", "tui"])


def kinds(house: House, session: Any) -> list[str]:
    return [event["kind"] for event in house.events(session)]


def tui(house: House, persona: str) -> Any:
    """The client of a TUI that behaves like *persona*, and its session."""
    spec = LaunchSpec(
        tool="scripted", name="gpu", working_directory=house.folder, args=("--persona", persona)
    )
    session = house.agents.launch(spec)
    house.sessions.append(session)
    house.attach(session)
    return house.client(session), session


@BOTH
def test_a_direct_prompt_reaches_the_agent_once(house: House, headless: bool) -> None:
    """It leaves no row in the queue, and its story in the events."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)
    house.until(lambda: client.status()["terminal_surface_eligibility"] == "ready")

    answer = client.control_prompt("say hello [[say hello]]")
    truth = house.truth(session).wait(lambda log: len(log.answers()) == 1)
    house.until(lambda: client.status()["active_execution"] == "idle")

    assert (answer["sent"], answer["detail"].startswith("Prompt dispatched")) == (True, True)
    assert (truth.prompts(), house.rows(session)) == (["say hello [[say hello]]"], [])
    expected = ["control_prompt_submitted", *(["control_prompt_completed"] if headless else [])]
    assert kinds(house, session) == expected


@BOTH
def test_a_busy_agent_is_refused_and_an_interrupt_frees_it(house: House, headless: bool) -> None:
    """The interrupt goes through the queue and acts on the direct turn at once."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)
    house.until(lambda: client.status()["terminal_surface_eligibility"] == "ready")
    client.control_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    if not headless:
        house.until(lambda: client.tui_belief()["state"] == "active")

    with pytest.raises(GatewayConflict) as refused:
        client.control_prompt("next")
    client.interrupt()
    house.truth(session).wait(lambda log: log.interrupts() == 1)

    assert refused.value.detail["error_code"] == "not_ready"
    assert house.truth(session).prompts() == ["long [[wait 600]]"]


@pytest.mark.parametrize("persona", ["plain", "claude", "codex", "gemini"])
def test_a_fresh_conversation_in_a_tui(house: House, persona: str) -> None:
    """The reset is confirmed, then the prompt arrives, and remembers nothing."""
    client, session = tui(house, persona)
    house.until(lambda: client.status()["terminal_surface_eligibility"] == "ready")
    client.control_prompt("remember the blue horse")
    house.until(lambda: client.tui_belief()["outcome"] == "success")
    house.until(lambda: client.tui_belief()["state"] == "ready")

    client.control_prompt("what was it? [[recall]]", chat_session={"mode": "new"})
    truth = house.truth(session).wait(lambda log: len(log.answers()) == 2)

    assert truth.prompts()[-1] == "what was it? [[recall]]"
    assert "blue horse" not in truth.answers()[-1]


def test_a_queued_reset_is_confirmed_by_its_composer(house: House) -> None:
    """No transcript tells of a command, and its row is completed all the same."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)

    client.submit_prompt("/clear")
    house.settle(session)

    assert house.rows(session) == [("submit_prompt", "completed", None)]


def test_force_hands_a_prompt_to_a_tui_at_work(house: House) -> None:
    """The TUI keeps it and carries it out after its turn."""
    client, session = tui(house, "claude")
    house.until(lambda: client.status()["terminal_surface_eligibility"] == "ready")
    gate = Gate(house.folder)
    client.control_prompt(f"first {gate.closed}")
    house.until(lambda: client.tui_state()["parsed_surface"]["business_state"] == "working")

    answer = client.control_prompt("second [[say two]]", force=True)
    gate.open()
    truth = house.truth(session).wait(lambda log: "two" in log.answers())

    assert answer["forced"] is True
    assert truth.prompts() == [f"first {gate.closed}", "second [[say two]]"]


def test_keys_answer_a_dialog_while_a_request_waits(house: House) -> None:
    """The request waits for the agent without keeping anybody from the terminal."""
    client, session = tui(house, "claude")
    client.submit_prompt("ask me [[permission]]")
    house.until(lambda: client.tui_state()["parsed_surface"]["input_mode"] == "modal")
    client.submit_prompt("behind it [[say done]]")

    client.send_keys("<[Enter]>")
    truth = house.truth(session).wait(lambda log: "done" in log.answers())

    assert truth.prompts() == ["ask me [[permission]]", "behind it [[say done]]"]


def test_keys_are_typed_as_they_are_told(house: House) -> None:
    """Literal text stands in the composer, a bad token types nothing, a headless agent takes none."""
    client, session = tui(house, "plain")
    house.until(lambda: client.status()["terminal_surface_eligibility"] == "ready")

    with pytest.raises(GatewayInvalid, match="is not a key"):
        client.send_keys("never<[F13]>")
    client.send_keys("half<[Enter]>", escape_special_keys=True)
    house.until(lambda: "half<[Enter]>" in client.tui_state()["probe_snapshot"]["captured_text_excerpt"])

    assert "never" not in client.tui_state()["probe_snapshot"]["captured_text_excerpt"]
    assert house.truth(session).prompts() == []
    with pytest.raises(GatewayConflict) as refused:
        client.control_prompt("into the draft")
    assert refused.value.detail["error_code"] == "not_ready"


def test_a_headless_chat_is_pinned_overridden_and_found_again(house: House) -> None:
    """The order is override, pinned, startup, new; and one-shot means once."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)

    def ask(prompt: str, **more: Any) -> str:
        before = len(house.truth(session).answers())
        client.control_prompt(prompt, **more)
        truth = house.truth(session).wait(lambda log: len(log.answers()) > before)
        house.until(lambda: client.headless_state()["can_accept_prompt_now"])
        return str(truth.answers()[-1])

    with pytest.raises(GatewayConflict) as missing:
        client.control_prompt("x", chat_session={"mode": "current"})
    ask("the blue horse")
    first = client.headless_state()["chat_session"]["current"]
    remembered = ask("again [[recall]]", chat_session={"mode": "current"})
    client.start_new_chat_next()
    forgotten = ask("fresh [[recall]]")
    state = client.headless_state()["chat_session"]
    found = ask("back [[recall]]", chat_session={"mode": "exact", "id": first["id"]})

    assert missing.value.detail["error_code"] == "missing_current_chat_session"
    assert ("blue horse" in remembered, "blue horse" in forgotten, "blue horse" in found) == (
        True,
        False,
        True,
    )
    assert (state["next_prompt_override"], state["current"] != first) == (None, True)
