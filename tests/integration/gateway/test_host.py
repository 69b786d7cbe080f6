"""Many gateways in one process: each as if it had its own, and none falls with another."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import names
from posthouse.errors import Unavailable
from posthouse.gateway_lifecycle import attach, bindings, gateway_lock, host_client, host_registry
from posthouse.gateway_lifecycle.host_client import HostUnresponsive
from posthouse.sessions.session import Session
from posthouse.support import processes
from posthouse.testing.scripted_agents import House
from posthouse.testing.waiting import LIMIT_SECONDS


@pytest.fixture
def hosted(house: House) -> Iterator[House]:
    """The house, with its host ended after the test."""
    yield house
    for session in house.sessions:
        attach.detach(session, house.registry)
    end(house)


def end(house: House) -> None:
    """End the host, if there is one."""
    if (pid := host_client.pid_of(house.agents.roots.runtime)) is not None:
        os.kill(pid, signal.SIGTERM)
        assert processes.wait_exit(pid, seconds=LIMIT_SECONDS)


def put_in(house: House, name: str, *, headless: bool = True) -> Session:
    """An agent whose gateway is in the host."""
    session = house.launch(headless=headless, name=name)
    attach.attach(session, house.registry, environment=os.environ, hosted=True)
    return session


def host_of(house: House) -> int:
    pid = host_client.pid_of(house.agents.roots.runtime)
    assert pid is not None
    return pid


def served(runtime_root: Path) -> tuple[gh.HostedGatewayStatus, ...] | None:
    """What the host serves; None while there is none that answers."""
    try:
        answer = host_client.listing(runtime_root)
    except HostUnresponsive:
        return None
    return None if answer is None else answer.gateways


def answers(house: House, session: Session) -> bool:
    """Whether the session's gateway carries out a prompt."""
    client = house.client(session)
    told = len(house.truth(session).answers())
    client.submit_prompt("[[say here]]")
    house.truth(session).wait(lambda log: len(log.answers()) > told)
    return True


def test_gateways_in_a_host_are_as_they_would_be_alone(hosted: House) -> None:
    """Each has a port and every file of the contract; a killed host serves all of them again by itself."""
    sessions = [put_in(hosted, f"agent{number}", headless=number > 0) for number in range(5)]
    first = [attach.live(session) for session in sessions]
    host = host_of(hosted)

    assert {one.pid for one in first if one} == {host}
    assert len({one.port for one in first if one}) == 5
    for session in sessions:
        found = {str(path.relative_to(session.gateway_root)) for path in session.gateway_root.rglob("*")}
        assert {"attach.json", "state.json", "queue.sqlite", "events.jsonl", "logs/gateway.log"} <= found
        assert (session.gateway_root / "run/gateway.pid").read_text() == f"{host}\n"
        assert hosted.read(session, "run/current-instance.json")["execution_mode"] == "detached_process"
        assert answers(hosted, session)

    os.kill(host, signal.SIGKILL)
    hosted.until(lambda: all(attach.live(session) for session in sessions))

    again = [attach.live(session) for session in sessions]
    assert [one.port for one in again if one] == [one.port for one in first if one]
    assert host_of(hosted) != host
    assert all(answers(hosted, session) for session in sessions)


def test_a_killed_host_leaves_no_tmux_client(hosted: House) -> None:
    """Each gateway has a client again, and those of the killed host are gone."""
    sessions = [put_in(hosted, f"agent{number}", headless=False) for number in range(3)]
    for session in sessions:
        session.tmux.run("new-window", "-d", "-t", f"={session.tmux_session_name}:", "exec yes")
    hosted.until(lambda: len(hosted.tmux_clients(sessions[0])) == len(sessions))
    attached = hosted.tmux_clients(sessions[0])
    host = host_of(hosted)

    os.kill(host, signal.SIGKILL)

    assert [processes.wait_exit(pid, seconds=LIMIT_SECONDS) for pid in attached] == [True] * len(attached)
    hosted.until(lambda: all(attach.live(session) for session in sessions))
    hosted.until(lambda: len(hosted.tmux_clients(sessions[0])) == len(sessions))
    assert set(hosted.tmux_clients(sessions[0])).isdisjoint(attached)


def test_letting_one_gateway_go_leaves_the_others(hosted: House) -> None:
    """Detach and stop end that gateway alone; attached again it goes back into the host."""
    stays, goes, stops = (put_in(hosted, name) for name in ("stays", "goes", "stops"))
    host = host_of(hosted)

    attach.detach(goes, hosted.registry)
    hosted.agents.stop(hosted.agents.find(name="stops"))

    assert (attach.live(goes), attach.live(stops)) == (None, None)
    assert not (goes.gateway_root / "run/current-instance.json").exists()
    assert (host_of(hosted), answers(hosted, stays)) == (host, True)
    assert [seat.gateway_root for seat in host_registry.read(stays.runtime_root)] == [str(stays.gateway_root)]
    hosted.attach(goes)
    assert gateway_lock.holder_of(goes.gateway_root) == host
    attach.detach(goes, hosted.registry)
    hosted.attach(goes, mode="detached_process")
    assert gateway_lock.holder_of(goes.gateway_root) not in (None, host)
    assert not bindings.was_hosted(goes)


def test_a_gateway_that_can_not_be_served_fails_alone(hosted: House) -> None:
    """Its caller hears why, nothing of it is left in the host, and the others go on."""
    well = put_in(hosted, "well")
    ill = hosted.launch(headless=True, name="ill")
    (ill.gateway_root / "queue.sqlite").mkdir()

    with pytest.raises(Unavailable, match=r"queue.sqlite can't be used: unable to open database file"):
        attach.attach(ill, hosted.registry, environment=os.environ, hosted=True)

    assert (attach.live(ill), gateway_lock.holder_of(ill.gateway_root)) == (None, None)
    assert [seat.gateway_root for seat in host_registry.read(well.runtime_root)] == [str(well.gateway_root)]
    assert answers(hosted, well)


def test_there_is_one_host_for_one_runtime_root(hosted: House) -> None:
    """A second one is refused and touches nothing."""
    session = put_in(hosted, "gpu")

    second = subprocess.run(
        host_client.command(session.runtime_root),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )

    assert second.returncode == 1
    assert second.stderr == (
        f"gateway host: process {host_of(hosted)} is the host of {session.runtime_root} already\n"
    )
    assert answers(hosted, session)


def test_what_was_detached_while_the_host_was_dead_is_not_taken_up_again(hosted: House) -> None:
    """The roll is put right by whoever detaches, and the next host starts with what is left."""
    stays, goes = put_in(hosted, "stays"), put_in(hosted, "goes")
    runtime = stays.runtime_root
    end(hosted)

    attach.detach(goes, hosted.registry)
    assert host_client.pid_of(runtime) is None
    host_client.ensure(runtime, os.environ)

    hosted.until(lambda: attach.live(stays) is not None)
    assert attach.live(goes) is None


def test_a_host_that_dies_while_it_takes_one_in_or_lets_one_go_does_either(hosted: House) -> None:
    """What is on the roll is served by its next life, what is off it is not; the caller can ask again."""
    session = hosted.launch(headless=True, name="gpu")
    environment = {**os.environ, names.CRASH_AT: "gateway on the roll#1"}
    host_client.ensure(session.runtime_root, environment)

    with pytest.raises(HostUnresponsive, match="does not answer"):
        attach.attach(session, hosted.registry, environment=os.environ, hosted=True)
    hosted.until(lambda: attach.live(session) is not None)
    attach.attach(session, hosted.registry, environment=os.environ, hosted=True)
    assert answers(hosted, session)

    end(hosted)
    host_client.ensure(session.runtime_root, {**os.environ, names.CRASH_AT: "gateway off the roll#1"})
    hosted.until(lambda: attach.live(session) is not None)
    with pytest.raises(HostUnresponsive, match="does not answer"):
        attach.detach(session, hosted.registry)
    hosted.until(lambda: served(session.runtime_root) == ())
    assert attach.live(session) is None
    attach.detach(session, hosted.registry)
    assert not (session.gateway_root / "run/current-instance.json").exists()


def test_strangers_and_nonsense_get_nothing_from_the_control_socket(hosted: House) -> None:
    """The socket is the user's alone; a bad line is answered, an endless one is cut, and the host goes on."""
    session = put_in(hosted, "gpu")
    folder = host_registry.folder_of(session.runtime_root)
    told = []

    for line in (b"{}\n", b'{"ask": "adopt"}\n', b"\xff\xfe\n", b'{"ask": "adopt", "seat": {}}\n'):
        told.append(_asked(folder, line))

    assert (folder / gh.SOCKET).stat().st_mode & 0o777 == 0o600
    assert all(b'"code":"bad_question"' in answer for answer in told), told
    assert _asked(folder, b"x" * (gh.MAX_LINE_BYTES + 2)) == b""
    with pytest.raises(Unavailable, match="is not a gateway folder of"):
        host_client.request(
            session.runtime_root, gh.HostRequest(ask="adopt", seat=gh.HostRegistryEntry(gateway_root="/etc"))
        )
    assert answers(hosted, session)


def _asked(folder: Path, line: bytes) -> bytes:
    with host_client.socket_path(folder) as path, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_SECONDS)
        connection.connect(path)
        try:
            connection.sendall(line)
            return connection.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            return b""


def test_named_pipes_in_an_agents_folder_stop_nothing(hosted: House) -> None:
    """A prompt is carried out, the neighbour answers, and the host ends when it is told to."""
    hostile, neighbour = put_in(hosted, "hostile", headless=False), put_in(hosted, "neighbour")
    hooks = hostile.root / "hooks"
    hooks.mkdir(exist_ok=True)
    for number in range(100):  # more than the host has threads
        os.mkfifo(hooks / f"Stop.{number}.json")
    (hooks / "Stop.deep.json").write_text("[" * 100_000)

    assert answers(hosted, hostile)
    assert answers(hosted, neighbour)
    end(hosted)
