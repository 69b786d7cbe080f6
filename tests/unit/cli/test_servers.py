"""Which server owns a runtime root."""

import json
import os
from pathlib import Path

from posthouse.cli import servers
from posthouse.contracts import server_files as cf
from posthouse.support import locks


def left(root: Path, address: str, pid: int) -> None:
    """The file that a server at *address* writes when it starts."""
    path = root / cf.SERVERS / address / cf.CURRENT_INSTANCE
    path.parent.mkdir(parents=True)
    told = {"schema_version": 1, "status": "ok", "pid": pid, "api_base_url": f"http://{address}"}
    told |= {"server_root": str(path.parent.parent), "started_at_utc": "2026-06-05T00:00:00+00:00"}
    path.write_text(json.dumps(told))


def test_it_is_the_one_that_holds_the_lock(tmp_path: Path) -> None:
    """Files of servers that died name nobody."""
    left(tmp_path, "127.0.0.1-9891", pid=1)
    left(tmp_path, "127.0.0.1-4321", pid=os.getpid())
    assert servers.running(tmp_path) is None

    with locks.hold(tmp_path / cf.SERVERS / cf.LOCK):
        there = servers.running(tmp_path)
        assert there is not None
        assert (there.pid, there.api_base_url) == (os.getpid(), "http://127.0.0.1-4321")


def test_nobody_is_ended_where_nobody_lives(tmp_path: Path) -> None:
    """Neither in a folder that is new nor in one that a dead server left."""
    assert servers.stop(tmp_path) is False
    left(tmp_path, "127.0.0.1-9891", pid=1)
    assert servers.stop(tmp_path) is False
