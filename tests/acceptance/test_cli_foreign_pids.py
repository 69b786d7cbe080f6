"""Files that name a process: a pid of another program in them is never killed."""

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posthouse.support import locks, processes
from posthouse.testing.waiting import wait_for

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of this user that leads a process group, as a turn's program does."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def _session_root(posthouse: "Commands", launched: Any) -> Path:
    return Path(launched["manifest_path"]).parent


def _plant(path: Path, pid: int) -> None:
    """Put *pid* into a file in place of the pid that it names."""
    if path.suffix == ".json":
        path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": pid}))
    else:
        path.write_text(str(pid))


@pytest.fixture
def host_ended(posthouse: "Commands") -> Iterator[None]:
    """Ends the host that a test started; agents that end leave it running."""
    yield
    lock = posthouse.folder / "runtime" / "gateway-host" / "host.lock"
    locks.signal_holder(lock, signal.SIGTERM)
    wait_for(lambda: locks.holder(lock) is None)


@pytest.mark.usefixtures("host_ended")
@pytest.mark.parametrize("is_hosted", [False, True], ids=["a process of its own", "hosted"])
def test_detach_and_stop_end_the_gateway_and_no_other_process(
    posthouse: "Commands", stranger: "subprocess.Popen[bytes]", is_hosted: bool
) -> None:
    """The kernel says which process holds the lock, whatever its text says; other files name none."""
    launched = posthouse.json(
        *("agents", "launch", "--tool", "scripted", "--name", "one", *(["--hosted"] if is_hosted else []))
    )
    root = _session_root(posthouse, launched) / "gateway"
    gateway = json.loads((root / "run" / "current-instance.json").read_text())["pid"]
    for name in ("gateway.lock", "gateway.pid", "current-instance.json"):
        _plant(root / "run" / name, stranger.pid)
    if is_hosted:
        _plant(posthouse.folder / "runtime" / "gateway-host" / "host.lock", stranger.pid)

    detached = posthouse.ok("agents", "gateway", "detach", "one")
    again = json.loads(posthouse.ok("agents", "gateway", "attach", "one", "--json"))
    for name in ("gateway.lock", "gateway.pid"):
        _plant(root / "run" / name, stranger.pid)
    posthouse.ok("agents", "stop", "one")

    assert detached == "gateway of one stopped\n"
    assert again["status"] == "ok"
    assert is_hosted or processes.wait_exit(gateway, seconds=0)
    assert stranger.poll() is None


def test_a_stop_does_not_kill_what_a_forged_turn_record_names(
    posthouse: "Commands", stranger: "subprocess.Popen[bytes]"
) -> None:
    """An agent can write its turns' records; the process must carry the turn's mark as well."""
    launched = posthouse.json("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    posthouse.ok("agents", "prompt", "one", "--wait", "hello")
    turn = posthouse.json("agents", "turn", "status", "one", "last")["turn_id"]
    folder = next(_session_root(posthouse, launched).rglob(f"{turn}/run.json")).parent
    named = processes.identify(stranger.pid)
    assert named is not None
    record: dict[str, Any] = {"boot_id": processes.boot_id()}
    for role in ("runner", "child"):
        record |= {f"{role}_pid": named.pid, f"{role}_start_ticks": named.start_ticks}
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "process.json").write_text(
        json.dumps(json.loads((folder / "process.json").read_text()) | {"child_pid": stranger.pid})
    )
    (folder / "exitcode").unlink()

    posthouse.run("agents", "turn", "interrupt", "one", turn)
    posthouse.run("agents", "stop", "one")

    assert stranger.poll() is None


def test_a_server_is_not_ended_by_the_text_of_its_lock(
    posthouse: "Commands", stranger: "subprocess.Popen[bytes]"
) -> None:
    """A lock that another program holds names no server."""
    lock = posthouse.folder / "runtime" / "houmao_servers" / "server.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(str(stranger.pid))
    descriptor = os.open(lock, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        down = posthouse.ok("demo", "down", more={"POSTHOUSE_HOME": str(posthouse.folder / "demo")})
    finally:
        os.close(descriptor)

    assert down == "the demo was not running\n"
    assert stranger.poll() is None
