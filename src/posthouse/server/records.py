"""Follows the registry folder: each record becomes a member, reloaded after inotify events."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from posthouse.contracts import names
from posthouse.contracts.registry import Record
from posthouse.errors import PosthouseError
from posthouse.server.member import Member
from posthouse.sessions import session
from posthouse.sessions.registry import Registry, RegistryEntry
from posthouse.sessions.session import Session
from posthouse.support import files
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor

#: Debounce: a launch writes its record several times in quick succession.
_SETTLE_SECONDS = 0.02
#: An unreadable registry causes no inotify events: it is read again after this.
_RETRY_SECONDS = 2.0


class RecordWatcher:
    """The members of one registry. Loaded when `open` returns; then *on_change* is called after each change.

    An unreadable record is logged once and left out.
    """

    def __init__(
        self,
        registry: Registry,
        log: logging.Logger,
        on_change: Callable[[], None],
        background: Supervisor | None = None,
    ) -> None:
        self.members: dict[str, Member] = {}
        #: Why records or their manifests are unusable, by agent id.
        self.problems: dict[str, str] = {}
        #: Why the last reload failed.
        self.read_error: str | None = None
        self._registry = registry
        self._folder = registry.root / names.LIVE_AGENTS
        self._log = log
        self._on_change = on_change
        self._background = background or Supervisor(log)
        self._folder_watch: FolderWatch | None = None
        self._record_watches: dict[str, FolderWatch] = {}
        self._stale: set[str] = set()
        self._is_listing_stale = True
        self._changed = asyncio.Event()
        self._follow_task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read all records, then follow changes.

        Raises:
            OSError: The folder can't be created, read or watched.
        """
        await self._read()
        self._follow_task = self._background.supervise("registry", self._follow)

    async def close(self) -> None:
        if self._follow_task is not None:
            self._follow_task.cancel()
            await asyncio.gather(self._follow_task, return_exceptions=True)
        for watch in (self._folder_watch, *self._record_watches.values()):
            if watch is not None:
                watch.close()

    def _listing_changed(self) -> None:
        self._is_listing_stale = True
        self._changed.set()

    def _record_changed(self, agent_id: str) -> None:
        self._stale.add(agent_id)
        self._changed.set()

    def _registry_ended(self) -> None:
        if self._folder_watch is not None:
            self._folder_watch.close()
            self._folder_watch = None
        self._listing_changed()

    def _folder_ended(self, agent_id: str) -> None:
        """Drop the watch: a new folder of the same name is a different inode."""
        self._record_watches.pop(agent_id).close()
        self._listing_changed()

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._changed.clear()
            try:
                await self._read()
            except OSError as error:
                self._read_all_again()
                self.read_error = f"registry unreadable: {error}"
                self._log.error("registry unreadable", extra={"error": str(error)})
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            except BaseException:
                self._read_all_again()
                raise
            self.read_error = None
            self._on_change()

    def _read_all_again(self) -> None:
        """Mark all records stale: after a partial read, the pending changes are unknown."""
        self._is_listing_stale = True
        self._stale.update(self._record_watches)
        self._changed.set()

    async def _read(self) -> None:
        """Reload stale records."""
        if self._folder_watch is None:
            await asyncio.to_thread(files.private_folder, self._folder)
            self._folder_watch = FolderWatch(
                self._folder, self._listing_changed, entries=True, on_end=self._registry_ended
            )
        if self._is_listing_stale:
            self._is_listing_stale = False
            self._watch(await asyncio.to_thread(_folders, self._folder))
        stale, self._stale = self._stale, set()
        for entry, member in await asyncio.to_thread(
            self._load_entries, sorted(stale & self._record_watches.keys())
        ):
            self._update_member(entry, member)

    def _watch(self, agent_ids: frozenset[str]) -> None:
        """Watch new folders, and drop removed ones."""
        for agent_id in agent_ids - self._record_watches.keys():
            with suppress(FileNotFoundError):  # removed already; the watch of the parent folder reports it
                changed = partial(self._record_changed, agent_id)
                ended = partial(self._folder_ended, agent_id)
                self._record_watches[agent_id] = FolderWatch(self._folder / agent_id, changed, on_end=ended)
                self._stale.add(agent_id)
        for agent_id in self._record_watches.keys() - agent_ids:
            self._record_watches.pop(agent_id).close()
        for known in (self.members, self.problems):
            for agent_id in known.keys() - agent_ids:
                del known[agent_id]

    def _load_entries(self, agent_ids: list[str]) -> list[tuple[RegistryEntry, Member | None]]:
        return [(entry, _member(entry)) for entry in map(self._registry.entry, agent_ids)]

    def _update_member(self, entry: RegistryEntry, member: Member | None) -> None:
        agent_id, problem = entry.agent_id, entry.problem or (member and member.problem)
        if problem != self.problems.pop(agent_id, None) and problem:
            self._log.warning("record unusable", extra={"agent_id": agent_id, "problem": problem})
        if problem:
            self.problems[agent_id] = problem
        self.members.pop(agent_id, None)
        if member is not None:
            self.members[agent_id] = member


def _folders(folder: Path) -> frozenset[str]:
    return frozenset(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())


def member_of(record: Record, found: Session) -> Member:
    """The member of *record* with session *found*."""
    authority = found.manifest.gateway_authority
    managed_ref = authority.control.managed_agent_ref if authority and found.manifest.is_headless else None
    return Member(
        record=record, session_id=found.session_id, server=found.tmux.server, managed_ref=managed_ref
    )


def _member(entry: RegistryEntry) -> Member | None:
    if entry.record is None:
        return None
    try:
        found = session.read(Path(entry.record.runtime.manifest_path))
    except PosthouseError as error:
        return Member(record=entry.record, session_id=None, server=None, problem=str(error))
    return member_of(entry.record, found)
