"""What a TUI's hooks and its transcript say of its turns, read when the kernel says that they changed."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.support.debounce import Pacer
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor
from posthouse.tools import spool
from posthouse.tools.tool import Exchange, Tool
from posthouse.tracking.observation import Ended, Heard

_NANOSECONDS = 1_000_000_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What they said last."""

    heard: Heard | None = None
    ended: Ended | None = None
    running_since_utc: str | None = None


class Witnesses:
    """Hooks and transcript of one session. What was said before its program started does not count."""

    def __init__(
        self,
        tool: Tool,
        session: Session,
        on_change: Callable[[], None],
        background: Supervisor | None = None,
    ) -> None:
        manifest = session.manifest
        self._tool = tool
        self._home = Path(manifest.launch_plan.home_selector.home_path)
        self._directory = Path(manifest.working_directory)
        self._spool = session.root / spool.FOLDER
        self._on_change = on_change
        #: Logs a look at them that fails; the next change has them looked at again.
        self._background = background or Supervisor(_log)
        self._since: datetime | None = None
        self._heard_ns = 0
        #: Path, size and time of what was read.
        self._read: tuple[Path, int, int] | None = None
        self._reading = asyncio.Lock()
        self._pacer = Pacer(self._start_refreshing)
        self._hooks: FolderWatch | None = None
        self._records: FolderWatch | None = None
        self._watched: Path | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.told = Told()

    @property
    def is_watching(self) -> bool:
        """Whether changes are told; otherwise somebody has to `refresh`."""
        return self._hooks is not None or self._records is not None

    def close(self) -> None:
        """Stop watching. A second call does nothing."""
        for watch in (self._hooks, self._records):
            if watch is not None:
                watch.close()
        self._pacer.close()
        for task in self._tasks:
            task.cancel()

    async def begin(self, started_at: datetime) -> None:
        """Listen to the program that was started at *started_at*, and forget every other."""
        self._since = started_at
        self._heard_ns = int(started_at.timestamp() * _NANOSECONDS)
        self._read, self.told = None, Told()
        await self.refresh()

    async def refresh(self) -> None:
        """Read what is new. Costs a look at two folders when nothing is."""
        async with self._reading:
            if self._since is not None:
                self._listen(await asyncio.to_thread(self._tool.transcript, self._home, self._directory))
                self.told = await asyncio.to_thread(self._newest, self.told, self._since)

    def _start_refreshing(self) -> None:
        task = self._background.spawn(self._refresh_and_tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refresh_and_tell(self) -> None:
        before = self.told
        await self.refresh()
        if self.told != before:
            self._on_change()

    def _listen(self, path: Path | None) -> None:
        """Watch the folders that are there by now. Without a watch, every look reads them."""
        if self._hooks is None:
            self._hooks = _watch(self._spool, self._pacer.hurry)
        folder = None if path is None else path.parent
        if folder != self._watched:
            if self._records is not None:
                self._records.close()
            self._records = None if folder is None else _watch(folder, self._pacer.changed)
            self._watched = folder if self._records is not None else None

    def _newest(self, before: Told, since: datetime) -> Told:
        heard = self._newest_report() or before.heard
        exchanges = self._new_exchanges()
        if exchanges is None:
            return Told(heard=heard, ended=before.ended, running_since_utc=before.running_since_utc)
        running = exchanges[-1] if exchanges and exchanges[-1].outcome is None else None
        is_ours = running is not None and _is_after(running.submitted_at_utc, since)
        return Told(
            heard=heard,
            ended=_newest_ended(exchanges),
            running_since_utc=running.submitted_at_utc if running is not None and is_ours else None,
        )

    def _newest_report(self) -> Heard | None:
        found: Heard | None = None
        for path, report in spool.read(self._spool, after_ns=self._heard_ns):
            self._heard_ns = max(self._heard_ns, _made_at_ns(path))
            if (meaning := self._tool.meaning(report)) is not None:
                found = Heard(meaning=meaning, at=clock.parse(report.at_utc))
        return found

    def _new_exchanges(self) -> list[Exchange] | None:
        """The conversation, if its file changed since it was read."""
        path = self._tool.transcript(self._home, self._directory)
        try:
            stat = None if path is None else path.stat()
        except FileNotFoundError:  # the CLI removes conversations that came to nothing
            stat = None
        now = None if path is None or stat is None else (path, stat.st_size, stat.st_mtime_ns)
        if now is None or now == self._read:
            return None
        self._read = now
        return list(self._tool.exchanges(self._home, self._directory))


def _newest_ended(exchanges: list[Exchange]) -> Ended | None:
    for exchange in reversed(exchanges):
        if exchange.outcome is not None:
            return Ended(submitted_at_utc=exchange.submitted_at_utc, outcome=exchange.outcome)
    return None


def _is_after(told: str, since: datetime) -> bool:
    try:
        return clock.parse(told) >= since
    except ValueError:  # the CLI's own file, and its own way to write times
        return False


def _made_at_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # somebody has just removed it
        return 0


def _watch(folder: Path, on_change: Callable[[], None]) -> FolderWatch | None:
    try:
        return FolderWatch(folder, on_change)
    except OSError:  # not there yet, or the system's watches are used up: looks read it all the same
        return None
