"""Launch, attach, ask, detach: one straight line through everything, for real."""

import os
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayConflict, GatewayUnavailable
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.errors import Unavailable
from posthouse.gateway_lifecycle import attach, gateway_lock
from posthouse.sessions import session as sessions
from posthouse.terminal import session as terminal
from posthouse.testing.searching import modes_below
from posthouse.testing.waiting import LIMIT_SECONDS

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any

BOTH = pytest.mark.parametrize("headless", [True, False], ids=["headless", "tui"])


@BOTH
def test_a_prompt_goes_all_the_way(house: House, headless: bool) -> None:
    """Accepted over HTTP, carried out by the agent once, and every witness tells the same."""
    session = house.launch(headless=headless)
    result = house.attach(session)
    client = house.client(session)

    accepted = client.submit_prompt("say hello [[say hello]]")
    house.settle(session)

    assert (result.status, result.action, result.gateway_host) == ("ok", "gateway_attach", "127.0.0.1")
    assert accepted["state"] == "accepted"
    assert house.truth(session).prompts() == ["say hello [[say hello]]"]
    assert house.rows(session) == [("submit_prompt", "completed", None)]
    assert [(event["kind"], event["request_id"]) for event in house.events(session)] == [
        ("accepted", accepted["request_id"]),
        ("completed", accepted["request_id"]),
    ]
    house.until(lambda: house.read(session, gf.STATE) == client.status())


@BOTH
def test_an_attached_gateway_is_published_and_a_detached_one_is_not(house: House, headless: bool) -> None:
    """tmux, registry and files name the live gateway, and forget it with the detach."""
    session = house.launch(headless=headless)
    result = house.attach(session)
    there = attach.live(session)

    assert there is not None
    variables = terminal.environment(session.tmux, session.tmux_session_name)
    assert {name: variables[name] for name in names.LIVE_GATEWAY} == {
        names.GATEWAY_HOST: "127.0.0.1",
        names.GATEWAY_PORT: str(result.gateway_port),
        names.GATEWAY_STATE_PATH: str(session.gateway_root / gf.STATE),
        names.GATEWAY_PROTOCOL_VERSION: "v1",
    }
    record = house.registry.get(session.agent_id)
    assert (record.gateway.host, record.gateway.port) == ("127.0.0.1", result.gateway_port)
    assert house.read(session, gf.GATEWAY_MANIFEST)["gateway_pid"] == there.pid
    assert house.read(session, gf.DESIRED_CONFIG)["desired_port"] == result.gateway_port
    assert (session.gateway_root / gf.PID).read_text() == f"{there.pid}\n"

    attach.detach(session, house.registry)

    assert attach.live(session) is None
    assert gateway_lock.holder_of(session.gateway_root) is None
    variables = terminal.environment(session.tmux, session.tmux_session_name)
    assert not set(names.LIVE_GATEWAY) & set(variables)
    assert house.registry.get(session.agent_id).gateway is None
    assert "gateway_pid" not in house.read(session, gf.GATEWAY_MANIFEST)
    assert house.read(session, gf.STATE)["gateway_health"] == "not_attached"
    assert not (session.gateway_root / gf.CURRENT_INSTANCE).exists()
    assert not (session.gateway_root / gf.PID).exists()


def test_attaching_twice_gives_the_same_gateway(house: House) -> None:
    """A healthy gateway is kept."""
    session = house.launch(headless=True)

    first, second = house.attach(session), house.attach(session)

    assert first == second


def test_the_next_gateway_listens_on_the_same_port(house: House) -> None:
    """Whoever wrote the address down finds the agent there again."""
    session = house.launch(headless=True)
    first = house.attach(session)
    attach.detach(session, house.registry)

    assert house.attach(session).gateway_port == first.gateway_port


def test_a_second_gateway_on_one_root_is_refused(house: House) -> None:
    """It says who is there, and touches nothing."""
    session = house.launch(headless=True)
    house.attach(session)
    there = attach.live(session)
    assert there is not None

    second = subprocess.run(
        [sys.executable, "-m", "posthouse.gateway", "--gateway-root", str(session.gateway_root)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    root = session.gateway_root
    assert (second.returncode, second.stderr) == (
        1,
        f"gateway: process {there.pid} already serves {root}; detach it first\n",
    )
    assert attach.live(session) == there


def test_a_taken_port_is_a_clear_error_and_leaves_nothing(house: House) -> None:
    """The message has the gateway's own words, and nothing runs afterwards."""
    session = house.launch(headless=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(Unavailable, match=f"127.0.0.1:{port} can't be listened on"):
            house.attach(session, port=port)

    assert gateway_lock.holder_of(session.gateway_root) is None
    assert house.read(session, gf.STATE)["gateway_health"] == "not_attached"


def test_a_gateway_in_a_window_beside_the_agent(house: House) -> None:
    """It names its window, which is never the agent's, and the window goes with it."""
    session = house.launch(headless=True)
    house.attach(session, mode="tmux_auxiliary_window")
    there = attach.live(session)
    status = house.client(session).status()

    assert there is not None
    windows = {pane.window_id: pane for pane in terminal.panes_of(session.tmux, session.tmux_session_name)}
    window = windows[there.tmux_window_id or ""]
    assert (window.window_name, window.pane_id) == ("gateway", there.tmux_pane_id)
    assert there.tmux_window_index == window.window_index != "0"
    assert (status["execution_mode"], status["gateway_tmux_window_id"]) == (
        "tmux_auxiliary_window",
        there.tmux_window_id,
    )

    attach.detach(session, house.registry)

    left = terminal.panes_of(session.tmux, session.tmux_session_name)
    assert [pane.window_name for pane in left] == ["agent"]


def test_files_are_the_owners_alone(house: House) -> None:
    """Prompts are private, and so is everything beside them."""
    session = house.launch(headless=True)
    house.attach(session)

    modes = modes_below(session.gateway_root)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_a_headless_chat_goes_on_from_turn_to_turn(house: House) -> None:
    """The pinned conversation is in the manifest, and a new one can be asked for."""
    session = house.launch(headless=True)
    house.attach(session)
    client = house.client(session)

    client.submit_prompt("first", turn_id="turn-mine")
    client.submit_prompt("second [[recall]]")
    client.submit_prompt("third [[recall]]", chat_session={"mode": "new"})
    house.settle(session)

    answers = house.truth(session).answers()
    assert "first" in answers[1]
    assert "first" not in answers[2]
    headless = sessions.read(session.manifest_path).manifest.headless
    assert headless is not None
    assert (headless.turn_index, headless.session_id is not None) == (3, True)
    assert (session.turns_root / "turn-mine" / "exitcode").exists()
    variables = terminal.environment(session.tmux, session.tmux_session_name)
    assert variables[names.RESUME_ID] == headless.session_id


@BOTH
def test_an_interrupt_stops_what_runs_now(house: House, headless: bool) -> None:
    """The turn ends, and the prompt behind it is carried out."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    client.submit_prompt("next [[say done]]")

    client.interrupt()
    house.settle(session)

    assert house.truth(session).wait(lambda log: len(log.prompts()) == 2).prompts() == [
        "long [[wait 600]]",
        "next [[say done]]",
    ]
    kinds = [(kind, state) for kind, state, _ in house.rows(session)]
    assert kinds == [
        ("submit_prompt", "failed" if headless else "completed"),
        ("submit_prompt", "completed"),
        ("interrupt", "completed"),
    ]


@BOTH
def test_a_relaunched_agent_goes_on_with_the_same_gateway(house: House, headless: bool) -> None:
    """Our own relaunch needs no decision, and the files tell of the live gateway again."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)

    house.agents.relaunch(house.agents.find(name="gpu"))
    house.until(lambda: client.status()["request_admission"] == "open")
    client.submit_prompt("after [[say hello]]")
    house.settle(session)

    assert house.truth(session).prompts() == ["after [[say hello]]"]
    house.until(lambda: house.read(session, gf.STATE) == client.status())
    assert house.read(session, gf.GATEWAY_MANIFEST)["gateway_port"] == client.status()["gateway_port"]


def test_a_strange_program_in_the_pane_gets_no_prompt(house: House) -> None:
    """Somebody restarted the agent by hand: a new epoch, and 409 until it is decided."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    pane = terminal.agent_pane(session.tmux, session.tmux_session_name)

    session.tmux.run("respawn-pane", "-k", "-t", pane.pane_id, "sleep", "600")
    house.until(lambda: client.status()["managed_agent_recovery"] == "reconciliation_required")

    with pytest.raises(GatewayConflict):
        client.submit_prompt("hello")
    assert client.status()["managed_agent_instance_epoch"] == 2


@BOTH
def test_an_agent_that_ended_is_unavailable(house: House, headless: bool) -> None:
    """The gateway stays healthy, says so, and refuses with 503."""
    session = house.launch(headless=headless)
    house.attach(session)
    client = house.client(session)

    terminal.kill(session.tmux, session.tmux_session_name)
    house.until(lambda: client.status()["managed_agent_connectivity"] == "unavailable")

    with pytest.raises(GatewayUnavailable, match="not available"):
        client.submit_prompt("hello")
    assert client.health() == {"protocol_version": "v1", "status": "ok"}
    assert client.status()["managed_agent_recovery"] == "awaiting_rebind"


def test_a_program_that_died_is_noticed(house: House) -> None:
    """A TUI's end shows at once, although its pane stays."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    pane = terminal.agent_pane(session.tmux, session.tmux_session_name)

    os.kill(pane.pid, signal.SIGKILL)
    house.until(lambda: client.status()["managed_agent_connectivity"] == "unavailable")

    with pytest.raises(GatewayUnavailable, match="its program ended"):
        client.submit_prompt("hello")
