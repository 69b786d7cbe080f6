"""The external agents of a registry: read once, and again when the kernel tells of a change."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from posthouse.contracts.external_agents import ExternalRecord
from posthouse.contracts.identity import canonical
from posthouse.contracts.managed_agents_http import Identity
from posthouse.sessions.externals import Externals
from posthouse.support import files
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor

#: A registration writes twice within moments.
_SETTLE_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Far:
    """An agent of another machine."""

    record: ExternalRecord
    #: What its server wants to see.
    token: str | None

    @cached_property
    def identity(self) -> Identity:
        return Identity.model_validate(self.record.identity)

    @cached_property
    def encoded(self) -> bytes:
        """The identity as it is sent."""
        return self.identity.model_dump_json().encode()


class ExternalBook:
    """Those that can be used, by id and by name. True when `open` returns, and follows until `close`."""

    def __init__(
        self, externals: Externals, log: logging.Logger, background: Supervisor | None = None
    ) -> None:
        self._externals = externals
        self._log = log
        self._background = background or Supervisor(log)
        self._by_id: Mapping[str, Far] = {}
        self._by_name: Mapping[str, Far] = {}
        self._problems: frozenset[str] = frozenset()
        self._watches: dict[str, FolderWatch] = {}
        self._whole: FolderWatch | None = None
        self._wanted = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read everything once, then follow.

        Raises:
            OSError: The folder can't be made, read or watched.
        """
        await asyncio.to_thread(files.private_folder, self._externals.folder)
        self._whole = FolderWatch(self._externals.folder, self._wanted.set, entries=True)
        await self._read()
        self._following = self._background.keep("external agents", self._follow)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        for watch in (self._whole, *self._watches.values()):
            if watch is not None:
                watch.close()

    @property
    def all(self) -> tuple[Far, ...]:
        """By name."""
        return tuple(self._by_name[name] for name in sorted(self._by_name))

    def find(self, ref: str) -> Far | None:
        return self._by_id.get(ref) or self._by_name.get(canonical(ref))

    async def _follow(self) -> None:
        self._wanted.set()  # an earlier run may have died before it read the last change
        while True:
            await self._wanted.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._wanted.clear()
            try:
                await self._read()
            except OSError as error:
                # Nothing is known to have changed; the next change tries again.
                self._log.error("the external agents can't be read", extra={"error": str(error)})

    def _folder_ended(self, name: str) -> None:
        """Forget the watch; when a folder of that name is there again, it is another one."""
        self._watches.pop(name).close()
        self._wanted.set()

    async def _read(self) -> None:
        folders = await asyncio.to_thread(self._folders)
        for name in folders - self._watches.keys():
            with suppress(FileNotFoundError):  # gone again, which the whole folder has told already
                ended = partial(self._folder_ended, name)
                self._watches[name] = FolderWatch(
                    self._externals.folder / name, self._wanted.set, on_end=ended
                )
        for name in self._watches.keys() - folders:
            self._watches.pop(name).close()
        found, problems = await asyncio.to_thread(self._looked_up)
        for problem in problems - self._problems:
            self._log.warning("an external agent can't be used", extra={"problem": problem})
        self._problems = problems
        self._by_id = {far.record.external_agent_id: far for far in found}
        self._by_name = {canonical(far.record.local_name): far for far in found}

    def _folders(self) -> frozenset[str]:
        """Those without a record too: it is just being written."""
        return frozenset(path.name for path in self._externals.folder.iterdir() if path.is_dir())

    def _looked_up(self) -> tuple[list[Far], frozenset[str]]:
        entries = self._externals.entries()
        usable = [entry.record for entry in entries if entry.record is not None]
        found = [Far(record=one, token=self._externals.token(one.external_agent_id)) for one in usable]
        return found, frozenset(entry.problem for entry in entries if entry.problem is not None)
