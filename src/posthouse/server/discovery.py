"""Keeps the roster true: told by the registry's folder and by tmux, never by asking again and again."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from posthouse.server.agent_index import Roster
from posthouse.server.records import Records
from posthouse.sessions.registry import Registry
from posthouse.support.supervision import Supervisor
from posthouse.terminal.client import Server
from posthouse.terminal.session_watcher import Attendance


class Discovery:
    """The agents of one registry. `roster` is true when `open` returns, and follows until `close`."""

    def __init__(
        self,
        registry: Registry,
        log: logging.Logger,
        on_change: Callable[[], None] = lambda: None,
        background: Supervisor | None = None,
    ) -> None:
        self._background = background or Supervisor(log)
        self._records = Records(registry, log, self._records_changed, self._background)
        self._on_change = on_change
        self._attendances: dict[Server, Attendance] = {}
        self._attending: dict[Server, asyncio.Task[None]] = {}
        self.roster = Roster((), {})

    @property
    def problems(self) -> Mapping[str, str]:
        """What is wrong with records that can't be used, by agent id."""
        return self._records.problems

    @property
    def trouble(self) -> str | None:
        """Why changes of the registry can't be followed at the moment; None when they can."""
        return self._records.trouble

    async def open(self) -> None:
        """Know everybody, then follow.

        Raises:
            OSError: The registry's folder can't be made, read or watched.
        """
        await self._records.open()
        self._records_changed()
        await asyncio.gather(*[attendance.asked.wait() for attendance in self._attendances.values()])

    async def close(self) -> None:
        await self._records.close()
        for task in self._attending.values():
            task.cancel()
        await asyncio.gather(*self._attending.values(), return_exceptions=True)

    def _records_changed(self) -> None:
        servers = {member.server for member in self._records.members.values() if member.server is not None}
        for server in servers - self._attendances.keys():
            self._attend(server)
        for server in self._attendances.keys() - servers:
            del self._attendances[server]
            self._attending.pop(server).cancel()
        for attendance in self._attendances.values():
            attendance.look()
        self._publish()

    def _attend(self, server: Server) -> None:
        attendance = Attendance(server, ours=partial(self._sessions_on, server), on_change=self._publish)
        self._attendances[server] = attendance
        self._attending[server] = self._background.keep(
            f"sessions of tmux server {server.socket or 'default'}", attendance.run
        )

    def _sessions_on(self, server: Server) -> frozenset[str]:
        on_server = [member for member in self._records.members.values() if member.server == server]
        return frozenset(member.tmux_session_name for member in on_server if member.is_meant_to_run)

    def _publish(self) -> None:
        asked = {server: attendance.sessions for server, attendance in self._attendances.items()}
        known = {server: sessions for server, sessions in asked.items() if sessions is not None}
        self.roster = Roster(self._records.members.values(), known)
        self._on_change()
