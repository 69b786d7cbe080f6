"""Agents of other machines that this registry has a name for. They are talked to, never managed."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import external_agents, names, strict
from posthouse.contracts.external_agents import ExternalRecord
from posthouse.contracts.identity import component, same_agent
from posthouse.errors import Conflict, NotFound
from posthouse.support import files, locks, untrusted_files

_LOCK = "locks/external-agents.lock"
_LOCK_WAIT_SECONDS = 10.0
_MAX_BYTES = 1 << 20


class ExternalNotFound(NotFound):
    """No external agent has that name or id."""

    code = "external_agent_not_found"


class ExternalExists(Conflict):
    """Another external agent has that name; nothing was written."""

    code = "external_agent_exists"


@dataclass(frozen=True, slots=True)
class Entry:
    """One folder: its record, or what is wrong with it."""

    external_agent_id: str
    record: ExternalRecord | None
    problem: str | None = None


class Externals:
    """The external records below one registry root."""

    def __init__(self, registry_root: Path) -> None:
        self.folder = registry_root / names.EXTERNAL_AGENTS
        self._lock = registry_root / _LOCK

    def entries(self) -> list[Entry]:
        """Every record, the unreadable ones with their problem, by id.

        Symlinks, and folders whose registration never came to its record, are nobody.
        """
        try:
            folders = sorted(self.folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [_entry(folder) for folder in folders if _has_record(folder)]

    def records(self) -> list[ExternalRecord]:
        """Those that can be used, by name."""
        found = [entry.record for entry in self.entries() if entry.record is not None]
        return sorted(found, key=lambda record: record.local_name)

    def find(self, ref: str) -> ExternalRecord:
        """The one with that id or name.

        Raises:
            ExternalNotFound: There is none.
        """
        for record in self.records():
            if record.external_agent_id == ref or same_agent(record.local_name, ref):
                return record
        raise ExternalNotFound(f"no external agent is called {ref!r}")

    def token(self, external_agent_id: str) -> str | None:
        """What its server wants to see; None: nothing."""
        try:
            path = self._of(external_agent_id) / external_agents.TOKEN
            return untrusted_files.read_own_bytes(path).decode().strip() or None
        except FileNotFoundError:
            return None

    def register(self, record: ExternalRecord, token: str | None) -> None:
        """Write *record* durably, its token first.

        Raises:
            ExternalExists: Its name is taken.
        """
        with locks.hold(self._lock, wait_seconds=_LOCK_WAIT_SECONDS):
            for other in self.records():
                if same_agent(other.local_name, record.local_name):
                    there = f"{other.remote_agent_ref!r} at {other.pair_api_base_url}"
                    raise ExternalExists(f"{other.local_name!r} is already {there}; remove it first")
            folder = files.private_folder(self._of(record.external_agent_id))
            if token is not None:
                files.write_whole(folder / external_agents.TOKEN, token.encode(), durable=True)
            self._write(record)

    def change(self, record: ExternalRecord) -> None:
        """Replace the record of the same id.

        Raises:
            ExternalNotFound: It was removed meanwhile.
        """
        with locks.hold(self._lock, wait_seconds=_LOCK_WAIT_SECONDS):
            self.find(record.external_agent_id)
            self._write(record)

    def remove(self, external_agent_id: str) -> None:
        """Forget it, token included. Nothing is said to its own machine."""
        with locks.hold(self._lock, wait_seconds=_LOCK_WAIT_SECONDS):
            shutil.rmtree(self._of(external_agent_id), ignore_errors=True)

    def _write(self, record: ExternalRecord) -> None:
        folder = self._of(record.external_agent_id)
        files.write_json(folder / names.RECORD_FILE, strict.plain(record), durable=True)
        files.sync_folder(self.folder)

    def _of(self, external_agent_id: str) -> Path:
        return self.folder / component(external_agent_id, what="external agent id")


def _has_record(folder: Path) -> bool:
    return not folder.is_symlink() and (folder / names.RECORD_FILE).exists()


def _entry(folder: Path) -> Entry:
    path = folder / names.RECORD_FILE
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is no record")
        record = strict.decode(untrusted_files.read_own_bytes(path), ExternalRecord)
        if record.external_agent_id != folder.name:
            raise ValueError(f"it is about {record.external_agent_id}")
    except (OSError, ValueError) as error:
        return Entry(folder.name, None, f"{path} can't be used: {error}")
    return Entry(folder.name, record)
