"""Reads a TUI's hook reports and transcript for its turns, on inotify events."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.support.debounce import Debouncer
from posthouse.support.inotify import FolderWatch
from posthouse.support.supervision import Supervisor
from posthouse.tools import spool
from posthouse.tools.tool import Exchange, Tool
from posthouse.tracking.observation import EndedTurn, HookReport

_NANOSECONDS = 1_000_000_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSignals:
    """The latest signals from hooks and transcript."""

    hook_report: HookReport | None = None
    ended: EndedTurn | None = None
    running_since_utc: str | None = None


class EvidenceSources:
    """Hooks and transcript of one session. Entries from before its program started are ignored."""

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
        #: Logs a failed refresh; the next change triggers another.
        self._background = background or Supervisor(_log)
        self._since: datetime | None = None
        self._reports_read_ns = 0
        #: Path, size and time of what was read.
        self._transcript_read: tuple[Path, int, int] | None = None
        self._refresh_lock = asyncio.Lock()
        self._pacer = Debouncer(self._start_refreshing)
        self._hook_watch: FolderWatch | None = None
        self._transcript_watch: FolderWatch | None = None
        self._watched: Path | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.signals = TurnSignals()

    @property
    def is_watching(self) -> bool:
        """Whether changes call *on_change*; otherwise the caller has to `refresh`."""
        return self._hook_watch is not None or self._transcript_watch is not None

    def close(self) -> None:
        """Stop watching. A second call does nothing."""
        for watch in (self._hook_watch, self._transcript_watch):
            if watch is not None:
                watch.close()
        self._pacer.close()
        for task in self._tasks:
            task.cancel()

    async def begin(self, started_at: datetime) -> None:
        """Reset to the program that was started at *started_at*."""
        self._since = started_at
        self._reports_read_ns = int(started_at.timestamp() * _NANOSECONDS)
        self._transcript_read, self.signals = None, TurnSignals()
        await self.refresh()

    async def refresh(self) -> None:
        """Read new entries. Without any it costs listing two folders."""
        async with self._refresh_lock:
            if self._since is not None:
                self._update_watches(
                    await asyncio.to_thread(self._tool.transcript, self._home, self._directory)
                )
                self.signals = await asyncio.to_thread(self._newest, self.signals, self._since)

    def _start_refreshing(self) -> None:
        task = self._background.spawn(self._refresh_and_notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refresh_and_notify(self) -> None:
        before = self.signals
        await self.refresh()
        if self.signals != before:
            self._on_change()

    def _update_watches(self, path: Path | None) -> None:
        """Watch the folders that exist now. Without a watch, every refresh reads them."""
        if self._hook_watch is None:
            self._hook_watch = _watch(self._spool, self._pacer.trigger)
        folder = None if path is None else path.parent
        if folder != self._watched:
            if self._transcript_watch is not None:
                self._transcript_watch.close()
            self._transcript_watch = None if folder is None else _watch(folder, self._pacer.mark_changed)
            self._watched = folder if self._transcript_watch is not None else None

    def _newest(self, before: TurnSignals, since: datetime) -> TurnSignals:
        heard = self._newest_report() or before.hook_report
        exchanges = self._new_exchanges()
        if exchanges is None:
            return TurnSignals(
                hook_report=heard, ended=before.ended, running_since_utc=before.running_since_utc
            )
        running = exchanges[-1] if exchanges and exchanges[-1].outcome is None else None
        is_ours = running is not None and _is_after(running.submitted_at_utc, since)
        return TurnSignals(
            hook_report=heard,
            ended=_newest_ended(exchanges),
            running_since_utc=running.submitted_at_utc if running is not None and is_ours else None,
        )

    def _newest_report(self) -> HookReport | None:
        found: HookReport | None = None
        for path, report in spool.read(self._spool, after_ns=self._reports_read_ns):
            self._reports_read_ns = max(self._reports_read_ns, _made_at_ns(path))
            if (meaning := self._tool.turn_signal(report)) is not None:
                found = HookReport(meaning=meaning, at=clock.parse(report.at_utc))
        return found

    def _new_exchanges(self) -> list[Exchange] | None:
        """The conversation, if its file changed since it was read."""
        path = self._tool.transcript(self._home, self._directory)
        try:
            stat = None if path is None else path.stat()
        except FileNotFoundError:  # the CLI removes empty conversations
            stat = None
        now = None if path is None or stat is None else (path, stat.st_size, stat.st_mtime_ns)
        if now is None or now == self._transcript_read:
            return None
        self._transcript_read = now
        return list(self._tool.exchanges(self._home, self._directory))


def _newest_ended(exchanges: list[Exchange]) -> EndedTurn | None:
    for exchange in reversed(exchanges):
        if exchange.outcome is not None:
            return EndedTurn(submitted_at_utc=exchange.submitted_at_utc, outcome=exchange.outcome)
    return None


def _is_after(time_utc: str, since: datetime) -> bool:
    try:
        return clock.parse(time_utc) >= since
    except ValueError:  # the CLI owns the file and its time format
        return False


def _made_at_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # removed concurrently
        return 0


def _watch(folder: Path, on_change: Callable[[], None]) -> FolderWatch | None:
    try:
        return FolderWatch(folder, on_change)
    except OSError:  # missing, or no inotify watches left: refreshes read it anyway
        return None
