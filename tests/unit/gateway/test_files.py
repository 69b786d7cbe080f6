"""What a gateway leaves on disk."""

import asyncio
import json
import logging
import stat
from functools import partial
from pathlib import Path

from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.events.journal import Journal
from posthouse.gateway.files import Publisher, live_attach
from posthouse.gateway.status import Binding
from posthouse.sessions.session import Session
from posthouse.support.process_log import close_log, open_log

BINDING = Binding(host="127.0.0.1", port=43123)


def status(depth: int) -> GatewayStatus:
    return GatewayStatus(
        attach_identity="a",
        backend="claude_headless",
        tmux_session_name="s",
        gateway_health="healthy",
        managed_agent_connectivity="connected",
        managed_agent_recovery="idle",
        request_admission="open",
        terminal_surface_eligibility="ready",
        active_execution="idle",
        queue_depth=depth,
        gateway_host="127.0.0.1",
        gateway_port=43123,
        managed_agent_instance_epoch=1,
        managed_agent_instance_id="one",
    )


def publisher(session: Session) -> Publisher:
    return Publisher(session, live_attach(session, BINDING), BINDING, logging.Logger("test"))


def inodes(root: Path) -> dict[str, int]:
    names = ("state.json", "attach.json", "gateway_manifest.json", "run/current-instance.json")
    return {name: (root / name).stat().st_ino for name in names}


def test_only_what_changed_is_written(made_session: Session) -> None:
    """A change of the queue touches the status and nothing else."""
    root = made_session.gateway_root
    files = publisher(made_session)
    files.publish(status(0))
    before = inodes(root)

    files.publish(status(0))
    same = inodes(root)
    files.publish(status(1))
    after = inodes(root)

    assert same == before
    assert {name for name in before if before[name] != after[name]} == {"state.json"}


def test_changes_that_come_together_are_written_once(made_session: Session) -> None:
    """A thousand requests are one write, of the last status."""
    root = made_session.gateway_root
    files = publisher(made_session)
    files.publish(status(0))
    before = (root / "state.json").stat().st_ino

    async def story() -> None:
        for depth in range(1000):
            files.publish_soon(partial(status, depth))
        assert (root / "state.json").stat().st_ino == before
        async with asyncio.timeout(5):
            while (root / "state.json").stat().st_ino == before:
                await asyncio.sleep(0.005)

    asyncio.run(story())

    assert json.loads((root / "state.json").read_bytes())["queue_depth"] == 999


def test_a_detached_gateway_has_no_tmux_fields(made_session: Session) -> None:
    """The record of the live process is the contract's, to the field."""
    publisher(made_session).publish(status(0))

    recorded = json.loads((made_session.gateway_root / "run/current-instance.json").read_bytes())
    pid = recorded.pop("pid")
    assert recorded == {
        "schema_version": 1,
        "protocol_version": "v1",
        "host": "127.0.0.1",
        "port": 43123,
        "execution_mode": "detached_process",
        "managed_agent_instance_epoch": 1,
        "managed_agent_instance_id": "one",
    }
    assert (made_session.gateway_root / "run/gateway.pid").read_text() == f"{pid}\n"


def test_events_are_one_sorted_object_per_line(tmp_path: Path) -> None:
    """Readers take the log line by line; it is the owner's alone."""
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    journal.add("failed", request_id="r", error_detail="nö", result_json=None)
    journal.close()

    assert path.read_text() == '{"error_detail":"nö","kind":"failed","request_id":"r","result_json":null}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_line_is_a_time_a_message_and_its_fields(tmp_path: Path) -> None:
    """People tail it; two gateways in one process never mix."""
    one, two = open_log(tmp_path / "one.log"), open_log(tmp_path / "two.log")
    one.info("request completed", extra={"request_id": "r"})
    two.info("gateway started")

    moment, _, rest = (tmp_path / "one.log").read_text().partition(" ")
    assert (len(moment), moment[-6:], rest) == (25, "+00:00", "request completed request_id='r'\n")
    assert (tmp_path / "two.log").read_text().endswith(" gateway started\n")
    close_log(one)
    close_log(two)
