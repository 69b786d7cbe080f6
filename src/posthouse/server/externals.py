"""The external agents of a registry: read at start and after each inotify event."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from posthouse.contracts.external_agents import ExternalRecord
from posthouse.contracts.identity import canonical
from posthouse.contracts.managed_agents_http import Identity
from posthouse.sessions.externals import ExternalAgents
from posthouse.support import files
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor

#: Debounce: a registration writes two files in quick succession.
_SETTLE_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class ExternalAgent:
    """An agent on another machine."""

    record: ExternalRecord
    #: The bearer token for its server.
    token: str | None

    @cached_property
    def identity(self) -> Identity:
        return Identity.model_validate(self.record.identity)

    @cached_property
    def encoded(self) -> bytes:
        """The identity as JSON, cached."""
        return self.identity.model_dump_json().encode()


class ExternalAgentIndex:
    """Usable external agents by id and name. Current from the return of `open` until `close`."""

    def __init__(
        self, externals: ExternalAgents, log: logging.Logger, background: Supervisor | None = None
    ) -> None:
        self._externals = externals
        self._log = log
        self._background = background or Supervisor(log)
        self._by_id: Mapping[str, ExternalAgent] = {}
        self._by_name: Mapping[str, ExternalAgent] = {}
        self._problems: frozenset[str] = frozenset()
        self._watches: dict[str, FolderWatch] = {}
        self._folder_watch: FolderWatch | None = None
        self._changed = asyncio.Event()
        self._follow_task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read all records, then follow changes.

        Raises:
            OSError: The folder can't be created, read or watched.
        """
        await asyncio.to_thread(files.private_folder, self._externals.folder)
        self._folder_watch = FolderWatch(self._externals.folder, self._changed.set, entries=True)
        await self._read()
        self._follow_task = self._background.supervise("external agents", self._follow)

    async def close(self) -> None:
        if self._follow_task is not None:
            self._follow_task.cancel()
            await asyncio.gather(self._follow_task, return_exceptions=True)
        for watch in (self._folder_watch, *self._watches.values()):
            if watch is not None:
                watch.close()

    @property
    def all(self) -> tuple[ExternalAgent, ...]:
        """Sorted by name."""
        return tuple(self._by_name[name] for name in sorted(self._by_name))

    def find(self, ref: str) -> ExternalAgent | None:
        return self._by_id.get(ref) or self._by_name.get(canonical(ref))

    async def _follow(self) -> None:
        self._changed.set()  # an earlier run of this task may have died before it read the last change
        while True:
            await self._changed.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._changed.clear()
            try:
                await self._read()
            except OSError as error:
                # The old agents stay; the next change retries.
                self._log.error("external agents unreadable", extra={"error": str(error)})

    def _folder_ended(self, name: str) -> None:
        """Drop the watch: a new folder of the same name is a different inode."""
        self._watches.pop(name).close()
        self._changed.set()

    async def _read(self) -> None:
        folders = await asyncio.to_thread(self._folders)
        for name in folders - self._watches.keys():
            with suppress(FileNotFoundError):  # removed already; the watch of the parent folder reports it
                ended = partial(self._folder_ended, name)
                self._watches[name] = FolderWatch(
                    self._externals.folder / name, self._changed.set, on_end=ended
                )
        for name in self._watches.keys() - folders:
            self._watches.pop(name).close()
        found, problems = await asyncio.to_thread(self._load_agents)
        for problem in problems - self._problems:
            self._log.warning("external agent unusable", extra={"problem": problem})
        self._problems = problems
        self._by_id = {agent.record.external_agent_id: agent for agent in found}
        self._by_name = {canonical(agent.record.local_name): agent for agent in found}

    def _folders(self) -> frozenset[str]:
        """Includes folders without a record, which is being written."""
        return frozenset(path.name for path in self._externals.folder.iterdir() if path.is_dir())

    def _load_agents(self) -> tuple[list[ExternalAgent], frozenset[str]]:
        entries = self._externals.entries()
        usable = [entry.record for entry in entries if entry.record is not None]
        found = [
            ExternalAgent(record=one, token=self._externals.token(one.external_agent_id)) for one in usable
        ]
        return found, frozenset(entry.problem for entry in entries if entry.problem is not None)
