"""Headless turns over HTTP, with real scripted agents in a real tmux."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.agent import headless_order
from posthouse.agent.adapter import Prompt
from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import names
from posthouse.sessions import session
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.testing.server import Served, serving
from posthouse.testing.waiting import wait_for
from posthouse.turns import runner

AGENT = "/houmao/agents/gpu"


@pytest.fixture
def gpu(agents: Agents, tmp_path: Path) -> Session:
    return agents.launch(LaunchSpec(tool="scripted", name="gpu", headless=True, working_directory=tmp_path))


@pytest.fixture
def server(agents: Agents, gpu: Session) -> Iterator[Served]:
    with serving(agents) as made:
        yield made


def ended(server: Served, turn_id: str) -> dict[str, Any]:
    """The report of a turn, once it is over."""
    told: list[dict[str, Any]] = []

    def is_over() -> bool:
        told.append(server.get(f"{AGENT}/turns/{turn_id}").json)
        return bool(told[-1]["status"] != "active")

    wait_for(is_over, told=lambda: str(told[-1]))
    return told[-1]


def folder_of(server: Served, session: Session) -> Path:
    return Path(server.service.instance.server_root) / mf.MANAGED_AGENTS / session.agent_id


def foreign_turn(found: Session, prompt: str) -> str:
    """A turn that somebody started without the server."""
    asked = headless_order.order_of(headless_order.count_turn(found), Prompt(text=prompt))
    runner.start(found.tmux, found.tmux_session_name, found.turns_root, asked)
    return asked.turn_id


def chat_of(server: Served, **wish: Any) -> str:
    """The conversation in which a turn of that wish was taken."""
    turn_id = server.post(f"{AGENT}/turns", {"prompt": "[[say x]]", **wish}).json["turn_id"]
    ended(server, turn_id)
    events = server.get(f"{AGENT}/turns/{turn_id}/events").json["entries"]
    (chat,) = {one["payload"]["session_id"] for one in events if one["payload"]["session_id"]}
    return str(chat)


def test_a_turn_is_recorded_taken_and_told(server: Served, gpu: Session) -> None:
    """Its handle, its report, its events and its raw output; afterwards nothing is active."""
    accepted = server.post(f"{AGENT}/turns", {"prompt": "[[say hello]]"})
    handle = accepted.json
    turn_id = handle["turn_id"]

    assert (accepted.status, handle["success"], handle["turn_index"]) == (200, True, 1)
    report = ended(server, turn_id)
    place = gpu.turns_root / turn_id
    assert report == {
        "tracked_agent_id": gpu.agent_id,
        "turn_id": turn_id,
        "turn_index": 1,
        "status": "completed",
        "started_at_utc": report["started_at_utc"],
        "completed_at_utc": report["completed_at_utc"],
        "returncode": 0,
        "completion_source": "process_exit",
        "stdout_path": str(place / "stdout.jsonl"),
        "stderr_path": str(place / "stderr.log"),
        "status_path": str(place / "exitcode"),
        "history_summary": "hello",
        "error": None,
    }
    events = server.get(f"{AGENT}/turns/{turn_id}/events").json
    assert [one["kind"] for one in events["entries"]][-1] == "completion"
    assert set(events["entries"][0]["payload"]) == {
        "provider",
        "session_id",
        "data",
        "provider_event_type",
        "raw",
    }
    raw = server.get(f"{AGENT}/turns/{turn_id}/artifacts/stdout")
    assert raw.body == (place / "stdout.jsonl").read_bytes()
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    part = server.ask("GET", f"{AGENT}/turns/{turn_id}/artifacts/stdout", headers={"Range": "bytes=2-5"})
    assert (part.status, part.body) == (206, raw.body[2:6])
    kept = folder_of(server, gpu)
    wait_for(lambda: not (kept / mf.ACTIVE_TURN).exists())
    assert json.loads((kept / mf.TURNS / f"{turn_id}.json").read_bytes())["status"] == "completed"
    assert json.loads((kept / mf.AUTHORITY).read_bytes())["manifest_path"] == str(gpu.manifest_path)


def test_one_turn_at_a_time_whoever_started_it(server: Served, gpu: Session) -> None:
    """A second is refused, also while the command line's own runs; an interrupt ends either."""
    first = server.post(f"{AGENT}/turns", {"prompt": "[[wait 600]]"}).json
    refused = server.post(f"{AGENT}/turns", {"prompt": "[[say no]]"})
    interrupted = server.post(f"{AGENT}/interrupt")

    assert refused.status == 409
    assert refused.json == {"detail": f"turn {first['turn_id']} is in progress; wait for it or interrupt it"}
    assert (interrupted.status, interrupted.json["turn_id"]) == (200, first["turn_id"])
    assert ended(server, first["turn_id"])["status"] == "interrupted"
    wait_for(lambda: not (folder_of(server, gpu) / mf.ACTIVE_TURN).exists())
    idle = server.post(f"{AGENT}/interrupt").json
    assert (idle["turn_id"], idle["detail"]) == (None, "no turn is active")

    theirs = foreign_turn(gpu, "[[wait 600]]")
    assert server.post(f"{AGENT}/turns", {"prompt": "[[say no]]"}).status == 409
    assert server.get(f"{AGENT}/turns/{theirs}").json["status"] == "active"
    assert server.post(f"{AGENT}/interrupt").json["turn_id"] == theirs
    assert ended(server, theirs)["status"] == "interrupted"
    assert not (folder_of(server, gpu) / mf.TURNS / f"{theirs}.json").exists()


def test_a_turn_goes_on_where_the_last_ended_unless_asked_otherwise(server: Served, gpu: Session) -> None:
    """Conversations are chosen from the manifest; what holds for one turn is not written there."""
    nobody = server.post(f"{AGENT}/turns", {"prompt": "[[say x]]", "chat_session": {"mode": "current"}})
    assert nobody.status == 409

    first = chat_of(server)
    before = session.read(gpu.manifest_path).manifest.launch_plan
    second = chat_of(server, chat_session={"mode": "new"}, execution={"model": {"name": "big"}})
    assert chat_of(server, chat_session={"mode": "current"}) == second != first
    assert chat_of(server, chat_session={"mode": "exact", "id": first}) == first
    assert session.read(gpu.manifest_path).manifest.launch_plan == before
    wrong = server.post(f"{AGENT}/turns", {"prompt": "[[say x]]", "chat_session": {"mode": "exact"}})
    assert wrong.status == 422


def test_what_is_not_there_is_said_to_be(server: Served, agents: Agents, gpu: Session) -> None:
    """Unknown turns and artifacts are 404, an agent that does not run 503, and it keeps its turns."""
    turn_id = server.post(f"{AGENT}/turns", {"prompt": "[[say hello]]"}).json["turn_id"]
    ended(server, turn_id)
    for path in ("nobody", "turn-none", ".last", "%2e%2e", "x" * 5000, "%C3%BC" * 500):
        assert server.get(f"{AGENT}/turns/{path}").status == 404
    assert server.get(f"{AGENT}/turns/turn-none/artifacts/stdout").status == 404
    assert server.get("/houmao/agents/nobody/turns/x").status == 404

    wait_for(lambda: not (folder_of(server, gpu) / mf.ACTIVE_TURN).exists())
    agents.stop(agents.find(name="gpu"))
    wait_for(lambda: server.get("/houmao/agents").json == {"agents": []})
    assert server.post(f"{AGENT}/turns", {"prompt": "[[say x]]"}).status == 503
    assert server.get(f"{AGENT}/turns/{turn_id}").json["status"] == "completed"


def test_an_artifact_that_is_no_regular_file_is_not_served(server: Served, gpu: Session) -> None:
    """Neither a named pipe nor a link stops the server or shows another file; it answers on."""
    turn_id = server.post(f"{AGENT}/turns", {"prompt": "[[say hello]]"}).json["turn_id"]
    ended(server, turn_id)
    place = gpu.turns_root / turn_id
    beyond = server.ask(
        "GET", f"{AGENT}/turns/{turn_id}/artifacts/stdout", headers={"Range": "bytes=999999-"}
    )
    size = (place / "stdout.jsonl").stat().st_size
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{size}")

    (place / "stderr.log").unlink()
    (place / "stderr.log").symlink_to("/etc/passwd")
    for _ in range(100):  # more than there are threads
        (place / "stdout.jsonl").unlink()
        os.mkfifo(place / "stdout.jsonl")
        for which in ("stdout", "stderr"):
            assert server.get(f"{AGENT}/turns/{turn_id}/artifacts/{which}").status == 404
    assert server.get(f"{AGENT}/turns/{turn_id}").status == 200


def test_asked_twice_under_one_id_a_turn_is_taken_once(server: Served, agents: Agents, gpu: Session) -> None:
    """Also by the next server, which knows every turn of the one before."""
    ours = {names.TURN_ID_HEADER: "turn-given"}
    first = server.post(f"{AGENT}/turns", {"prompt": "[[say once]]"}, ours)
    again = server.post(f"{AGENT}/turns", {"prompt": "[[say once]]"}, ours)
    assert (first.status, first.json["turn_id"]) == (200, "turn-given")
    assert (again.status, again.json["turn_index"]) == (200, first.json["turn_index"])
    assert ended(server, "turn-given")["history_summary"] == "once"
    assert server.post(f"{AGENT}/turns", {"prompt": "x"}, {names.TURN_ID_HEADER: "../x"}).status == 422
    assert len(list(gpu.turns_root.glob("turn-*"))) == 1


def test_a_disk_that_refuses_is_said_to_and_nothing_stands_in_the_way_later(
    server: Served, gpu: Session
) -> None:
    """503, whether the record or the turn itself can't be written; the next turn is taken."""
    kept = folder_of(server, gpu)
    kept.mkdir(parents=True)
    for in_the_way in (kept / mf.TURNS, gpu.turns_root):
        in_the_way.write_text("")
        refused = server.post(f"{AGENT}/turns", {"prompt": "[[say no]]"})
        assert (refused.status, [*refused.json]) == (503, ["detail"])
        in_the_way.unlink()

    taken = server.post(f"{AGENT}/turns", {"prompt": "[[say yes]]"})
    assert ended(server, taken.json["turn_id"])["history_summary"] == "yes"
    assert len([*(kept / mf.TURNS).iterdir()]) == 1
