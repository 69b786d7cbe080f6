"""Agents on other machines that are registered here by name. They receive requests but are not managed."""

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


@dataclass(frozen=True, slots=True)
class ExternalEntry:
    """One folder: its record, or the problem with it."""

    external_agent_id: str
    record: ExternalRecord | None
    problem: str | None = None


class ExternalAgents:
    """The external records below one registry root."""

    def __init__(self, registry_root: Path) -> None:
        self.folder = registry_root / names.EXTERNAL_AGENTS
        self._lock = registry_root / _LOCK

    def entries(self) -> list[ExternalEntry]:
        """Every record, sorted by id; unreadable ones with their problem.

        Symlinks, and folders of an incomplete registration, are skipped.
        """
        try:
            folders = sorted(self.folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [_entry(folder) for folder in folders if _has_record(folder)]

    def records(self) -> list[ExternalRecord]:
        """Usable records, sorted by name."""
        found = [entry.record for entry in self.entries() if entry.record is not None]
        return sorted(found, key=lambda record: record.local_name)

    def find(self, ref: str) -> ExternalRecord:
        """The record with that id or name.

        Raises:
            ExternalNotFound: No record matches.
        """
        for record in self.records():
            if record.external_agent_id == ref or same_agent(record.local_name, ref):
                return record
        raise ExternalNotFound(f"no external agent is called {ref!r}")

    def token(self, external_agent_id: str) -> str | None:
        """The bearer token for its server; None: no token."""
        try:
            path = self._folder_of(external_agent_id) / external_agents.TOKEN
            return untrusted_files.read_own_bytes(path).decode().strip() or None
        except FileNotFoundError:
            return None

    def register(self, record: ExternalRecord, token: str | None) -> None:
        """Write *record* durably, its token first.

        Raises:
            Conflict: The name is taken; nothing was written.
        """
        with locks.hold(self._lock, wait_seconds=_LOCK_WAIT_SECONDS):
            for other in self.records():
                if same_agent(other.local_name, record.local_name):
                    there = f"{other.remote_agent_ref!r} at {other.pair_api_base_url}"
                    raise Conflict(
                        f"{other.local_name!r} is already {there}; remove it first",
                        code="external_agent_exists",
                    )
            folder = files.private_folder(self._folder_of(record.external_agent_id))
            if token is not None:
                files.write_whole(folder / external_agents.TOKEN, token.encode(), durable=True)
            self._write(record)

    def change(self, record: ExternalRecord) -> None:
        """Replace the record of the same id.

        Raises:
            ExternalNotFound: The record was removed meanwhile.
        """
        with locks.hold(self._lock, wait_seconds=_LOCK_WAIT_SECONDS):
            self.find(record.external_agent_id)
            self._write(record)

    def remove(self, external_agent_id: str) -> None:
        """Remove the record and its token. The remote server is not notified."""
        with locks.hold(self._lock, wait_seconds=_LOCK_WAIT_SECONDS):
            shutil.rmtree(self._folder_of(external_agent_id), ignore_errors=True)

    def _write(self, record: ExternalRecord) -> None:
        folder = self._folder_of(record.external_agent_id)
        files.write_json(folder / names.RECORD_FILE, strict.plain(record), durable=True)
        files.sync_folder(self.folder)

    def _folder_of(self, external_agent_id: str) -> Path:
        return self.folder / component(external_agent_id, what="external agent id")


def _has_record(folder: Path) -> bool:
    return not folder.is_symlink() and (folder / names.RECORD_FILE).exists()


def _entry(folder: Path) -> ExternalEntry:
    path = folder / names.RECORD_FILE
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is no record")
        record = strict.decode(untrusted_files.read_own_bytes(path), ExternalRecord)
        if record.external_agent_id != folder.name:
            raise ValueError(f"it is about {record.external_agent_id}")
    except (OSError, ValueError) as error:
        return ExternalEntry(folder.name, None, f"{path} can't be used: {error}")
    return ExternalEntry(folder.name, record)
