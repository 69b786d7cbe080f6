"""Follows the registry's folder: every record as a member, read again when the kernel tells of a change."""

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
from posthouse.sessions.registry import Entry, Registry
from posthouse.sessions.session import Session
from posthouse.support import files
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor

#: A launch writes its record several times within moments.
_SETTLE_SECONDS = 0.02
#: A registry that can't be read tells of no change: it is tried again after this.
_RETRY_SECONDS = 2.0


class Records:
    """The members of one registry. True when `open` returns; afterwards *on_change* tells of each change.

    A record that can't be read is reported once and left out; the others stay.
    """

    def __init__(
        self,
        registry: Registry,
        log: logging.Logger,
        on_change: Callable[[], None],
        background: Supervisor | None = None,
    ) -> None:
        self.members: dict[str, Member] = {}
        #: What is wrong with records, and with the manifests they lead to, by agent id.
        self.problems: dict[str, str] = {}
        #: Why the last change could not be read.
        self.trouble: str | None = None
        self._registry = registry
        self._folder = registry.root / names.LIVE_AGENTS
        self._log = log
        self._on_change = on_change
        self._background = background or Supervisor(log)
        self._whole: FolderWatch | None = None
        self._each: dict[str, FolderWatch] = {}
        self._stale: set[str] = set()
        self._is_listing_stale = True
        self._wanted = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read everything once, then follow.

        Raises:
            OSError: The folder can't be made, read or watched.
        """
        await self._read()
        self._following = self._background.keep("registry", self._follow)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        for watch in (self._whole, *self._each.values()):
            if watch is not None:
                watch.close()

    def _listing_changed(self) -> None:
        self._is_listing_stale = True
        self._wanted.set()

    def _record_changed(self, agent_id: str) -> None:
        self._stale.add(agent_id)
        self._wanted.set()

    def _registry_ended(self) -> None:
        if self._whole is not None:
            self._whole.close()
            self._whole = None
        self._listing_changed()

    def _folder_ended(self, agent_id: str) -> None:
        """Forget the watch; when a folder of that name is there again, it is another one."""
        self._each.pop(agent_id).close()
        self._listing_changed()

    async def _follow(self) -> None:
        while True:
            await self._wanted.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._wanted.clear()
            try:
                await self._read()
            except OSError as error:
                self._read_all_again()
                self.trouble = f"the registry can't be read: {error}"
                self._log.error("the registry can't be read", extra={"error": str(error)})
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            except BaseException:
                self._read_all_again()
                raise
            self.trouble = None
            self._on_change()

    def _read_all_again(self) -> None:
        """A read failed half-way: what changed before is not known any more."""
        self._is_listing_stale = True
        self._stale.update(self._each)
        self._wanted.set()

    async def _read(self) -> None:
        """Read what changed since the last time."""
        if self._whole is None:
            await asyncio.to_thread(files.private_folder, self._folder)
            self._whole = FolderWatch(
                self._folder, self._listing_changed, entries=True, on_end=self._registry_ended
            )
        if self._is_listing_stale:
            self._is_listing_stale = False
            self._watch(await asyncio.to_thread(_folders, self._folder))
        stale, self._stale = self._stale, set()
        for entry, member in await asyncio.to_thread(self._looked_up, sorted(stale & self._each.keys())):
            self._take(entry, member)

    def _watch(self, agent_ids: frozenset[str]) -> None:
        """Watch the folders that are new, and forget those that are gone."""
        for agent_id in agent_ids - self._each.keys():
            with suppress(FileNotFoundError):  # gone again, which the whole folder has told already
                changed = partial(self._record_changed, agent_id)
                ended = partial(self._folder_ended, agent_id)
                self._each[agent_id] = FolderWatch(self._folder / agent_id, changed, on_end=ended)
                self._stale.add(agent_id)
        for agent_id in self._each.keys() - agent_ids:
            self._each.pop(agent_id).close()
        for known in (self.members, self.problems):
            for agent_id in known.keys() - agent_ids:
                del known[agent_id]

    def _looked_up(self, agent_ids: list[str]) -> list[tuple[Entry, Member | None]]:
        return [(entry, _member(entry)) for entry in map(self._registry.entry, agent_ids)]

    def _take(self, entry: Entry, member: Member | None) -> None:
        agent_id, problem = entry.agent_id, entry.problem or (member and member.problem)
        if problem != self.problems.pop(agent_id, None) and problem:
            self._log.warning("a record can't be used", extra={"agent_id": agent_id, "problem": problem})
        if problem:
            self.problems[agent_id] = problem
        self.members.pop(agent_id, None)
        if member is not None:
            self.members[agent_id] = member


def _folders(folder: Path) -> frozenset[str]:
    return frozenset(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())


def member_of(record: Record, found: Session) -> Member:
    """The agent of *record*, whose session is *found*."""
    authority = found.manifest.gateway_authority
    managed_ref = authority.control.managed_agent_ref if authority and found.manifest.is_headless else None
    return Member(
        record=record, session_id=found.session_id, server=found.tmux.server, managed_ref=managed_ref
    )


def _member(entry: Entry) -> Member | None:
    if entry.record is None:
        return None
    try:
        found = session.read(Path(entry.record.runtime.manifest_path))
    except PosthouseError as error:
        return Member(record=entry.record, session_id=None, server=None, problem=str(error))
    return member_of(entry.record, found)
