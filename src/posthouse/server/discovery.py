"""Keeps the agent index current from inotify events of the registry and from tmux; does not poll."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from posthouse.server.agent_index import AgentIndex
from posthouse.server.records import RecordWatcher
from posthouse.sessions.registry import Registry
from posthouse.support.supervision import Supervisor
from posthouse.terminal.client import Server
from posthouse.terminal.session_watcher import SessionWatcher


class Discovery:
    """The agents of one registry. `index` is current from the return of `open` until `close`."""

    def __init__(
        self,
        registry: Registry,
        log: logging.Logger,
        on_change: Callable[[], None] = lambda: None,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self._records = RecordWatcher(registry, log, self._records_changed, self._background)
        self._on_change = on_change
        self._watchers: dict[Server, SessionWatcher] = {}
        self._watcher_tasks: dict[Server, asyncio.Task[None]] = {}
        self.index = AgentIndex((), {})

    @property
    def problems(self) -> Mapping[str, str]:
        """Why records are unusable, by agent id."""
        return self._records.problems

    @property
    def read_error(self) -> str | None:
        """Why the registry can't be read at the moment; None when it can."""
        return self._records.read_error

    async def open(self) -> None:
        """Read all records and tmux sessions, then follow changes.

        Raises:
            OSError: The registry's folder can't be made, read or watched.
        """
        await self._records.open()
        self._records_changed()
        await asyncio.gather(*[watcher.checked.wait() for watcher in self._watchers.values()])

    async def close(self) -> None:
        await self._records.close()
        for task in self._watcher_tasks.values():
            task.cancel()
        await asyncio.gather(*self._watcher_tasks.values(), return_exceptions=True)

    def _records_changed(self) -> None:
        servers = {member.server for member in self._records.members.values() if member.server is not None}
        for server in servers - self._watchers.keys():
            self._watch_sessions(server)
        for server in self._watchers.keys() - servers:
            del self._watchers[server]
            self._watcher_tasks.pop(server).cancel()
        for watcher in self._watchers.values():
            watcher.refresh()
        self._publish()

    def _watch_sessions(self, server: Server) -> None:
        watcher = SessionWatcher(server, expected=partial(self._sessions_on, server), on_change=self._publish)
        self._watchers[server] = watcher
        self._watcher_tasks[server] = self._background.supervise(
            f"sessions of tmux server {server.socket or 'default'}", watcher.run
        )

    def _sessions_on(self, server: Server) -> frozenset[str]:
        on_server = [member for member in self._records.members.values() if member.server == server]
        return frozenset(member.tmux_session_name for member in on_server if member.is_expected_to_run)

    def _publish(self) -> None:
        listed = {server: watcher.sessions for server, watcher in self._watchers.items()}
        known = {server: sessions for server, sessions in listed.items() if sessions is not None}
        self.index = AgentIndex(self._records.members.values(), known)
        self._on_change()
