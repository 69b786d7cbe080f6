"""The coordination server of this machine's runtime root, if one lives."""

from pathlib import Path

from posthouse.clients.coordination.answers import Instance
from posthouse.contracts import coordination_files as cf
from posthouse.contracts import strict
from posthouse.support import locks


def running(runtime_root: Path) -> Instance | None:
    """The live server that owns *runtime_root*, or None. Asks nobody: its lock says whether it lives."""
    servers = runtime_root / cf.SERVERS
    pid = locks.holder(servers / cf.LOCK)
    if pid is None:
        return None
    for path in servers.glob(f"*/{cf.CURRENT_INSTANCE}"):
        try:
            instance = strict.decode(path.read_bytes(), Instance)
        except (OSError, ValueError):  # left by another one, or just being written
            continue
        if instance.pid == pid:
            return instance
    return None
