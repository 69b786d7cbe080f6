"""The shared registry: one record per agent, a locator that other programs can read.

`<root>/live_agents/<agent-id>/record.json`. Symlinked entries are ignored. Writers of one agent
take its lock, so that check and write are atomic.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from posthouse.contracts import names, strict
from posthouse.contracts.identity import component
from posthouse.contracts.registry import Liveness, Record, upgrade
from posthouse.errors import Conflict
from posthouse.support import clock, files, locks, untrusted_files

#: tmux determines liveness, so the lease of a tmux-backed record must never expire.
_LEASE = timedelta(days=36500)
_LOCK_WAIT_SECONDS = 10.0
_MAX_RECORD_BYTES = 1 << 20


class RecordTaken(Conflict):
    """Another generation of that agent is active; nothing was written."""

    code = "record_taken"


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One folder of the registry: its record, or the problem with it; neither while no record exists yet."""

    agent_id: str
    record: Record | None
    problem: str | None = None
    #: Another user could have written it: it is neither trusted nor overwritten nor removed.
    is_foreign: bool = False


class Registry:
    """The records under one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._live = root / names.LIVE_AGENTS
        self._held: set[str] = set()

    @contextmanager
    def locked(self, agent_id: str) -> Iterator[None]:
        """Hold the writer lock of *agent_id* for the body.

        Reentrant within this registry: a stop detaches the gateway, which also writes.

        Raises:
            LockHeld: Another operation on that agent took too long.
        """
        if agent_id in self._held:
            yield
            return
        lock = self.root / "locks" / f"{component(agent_id, what='agent id')}.lock"
        with locks.hold(lock, wait_seconds=_LOCK_WAIT_SECONDS):
            self._held.add(agent_id)
            try:
                yield
            finally:
                self._held.discard(agent_id)

    def entries(self) -> list[RegistryEntry]:
        """Every record, sorted by agent id; unreadable ones with their problem."""
        try:
            folders = sorted(self._live.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [self._entry(folder) for folder in folders if folder.is_dir() and not folder.is_symlink()]

    def entry(self, folder: str) -> RegistryEntry:
        """The entry of *folder*, a folder name in the registry."""
        return self._entry(self._live / folder)

    def records(self) -> list[Record]:
        return [entry.record for entry in self.entries() if entry.record is not None]

    def get(self, agent_id: str) -> Record | None:
        """The record of *agent_id*; None when it is missing or unreadable."""
        return self.entry(component(agent_id, what="agent id")).record

    def publish(self, record: Record) -> None:
        """Write *record* durably, unless another generation of the agent is active.

        Raises:
            RecordTaken: Another generation is active, or another user could have written the record.
        """
        moment = clock.now()
        entry = self.entry(component(record.agent_id, what="agent id"))
        if entry.is_foreign:
            raise RecordTaken(f"the record of agent {record.agent_id} is not trusted: {entry.problem}")
        held = entry.record
        if held is not None and held.generation_id != record.generation_id and held.is_active(moment):
            raise RecordTaken(f"agent {record.agent_id} is active as another generation")
        folder = files.private_folder(self._live / record.agent_id)
        target = folder / names.RECORD_FILE
        if target.is_symlink():
            target.unlink()
        files.write_json(target, strict.plain(record), durable=True)
        files.sync_folder(self._live)

    def change(self, agent_id: str, generation_id: str, change: Callable[[Record], Record]) -> Record | None:
        """Apply *change* if the record still has that generation. The caller holds the lock."""
        held = self.get(agent_id)
        if held is None or held.generation_id != generation_id:
            return None
        changed = change(held)
        if changed != held:
            self.publish(changed)
        return changed

    def remove(self, agent_id: str, generation_id: str | None = None) -> bool:
        """Remove the record; with a generation, only if it still matches. False: nothing was removed."""
        folder = self._live / component(agent_id, what="agent id")
        held = self._entry(folder).record
        if generation_id is not None and (held is None or held.generation_id != generation_id):
            return False
        if folder.is_symlink():
            folder.unlink()
        elif folder.is_dir():
            import shutil  # every command reads the registry, few remove from it

            shutil.rmtree(folder)
        else:
            return False
        return True

    def _entry(self, folder: Path) -> RegistryEntry:
        path = folder / names.RECORD_FILE
        if not os.path.lexists(path):
            # The folder is created before the record and removed after it.
            return RegistryEntry(folder.name, None)
        if path.is_symlink() or not path.is_file():
            return RegistryEntry(folder.name, None, f"{path} is not a file")
        try:
            if path.stat().st_size > _MAX_RECORD_BYTES:
                raise ValueError("it is larger than a record can be")
            payload = strict.parse(untrusted_files.read_own_bytes(path))
            if not isinstance(payload, dict):
                raise ValueError("it is not a JSON object")
            record = strict.convert(upgrade(payload), Record)
        except untrusted_files.NotOwnFile as error:
            return RegistryEntry(folder.name, None, str(error), is_foreign=True)
        except (OSError, ValueError) as error:
            return RegistryEntry(folder.name, None, f"{path} can't be used: {error}")
        if record.agent_id != folder.name:
            return RegistryEntry(folder.name, None, f"{path} is about {record.agent_id}")
        return RegistryEntry(folder.name, record)


def lease() -> Liveness:
    """Liveness for a record published now."""
    moment = clock.now()
    return Liveness(
        published_at=clock.iso_seconds(moment), lease_expires_at=clock.iso_seconds(moment + _LEASE)
    )
