"""Schedules the notifier's polls: at its interval and, if configured, as soon as mail arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.mail.facade import MailFacade
from posthouse.gateway.mail.mailbox_pool import MailboxPool
from posthouse.gateway.mail.notifier import operator_alert, pacing
from posthouse.gateway.mail.notifier.poller import MailPoller, PollResult
from posthouse.mailbox import Watch
from posthouse.queue import QueueUnavailable, WakeRule
from posthouse.support import clock

#: Mail that arrives together causes one wake-up.
_DEBOUNCE_SECONDS = 0.2
#: Delay before a retry when the queue file is unavailable.
_RETRY_SECONDS = 30.0


class NotifierScheduler:
    """Runs the polls of one gateway, one at a time. While disabled it waits for a settings change only."""

    def __init__(
        self,
        gateway: GatewayContext,
        mailboxes: MailboxPool,
        poller: MailPoller,
        *,
        on_poll: Callable[[], None],
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._gateway = gateway
        self._mailboxes = mailboxes
        self._poller = poller
        self._on_poll = on_poll
        self._now = now
        self._store = gateway.queue.notifier
        self._settings_changed = asyncio.Event()
        #: Mail arrived, or the agent's state changed while unannounced mail was waiting.
        self._wakeup = asyncio.Event()
        #: Unannounced mail was found while the agent was busy.
        self._has_unannounced = False
        self._watched: MailFacade | None = None
        self._watch: Watch | None = None

    def settings_changed(self) -> None:
        """Load the new settings; the wait for the next poll restarts."""
        self._settings_changed.set()

    def agent_changed(self) -> None:
        """Signal that the agent may be free for waiting mail."""
        if self._has_unannounced:
            self._wakeup.set()

    async def run(self) -> None:
        """Poll until cancelled."""
        is_first = True
        try:
            while True:
                self._settings_changed.clear()
                try:
                    await self._until_settings_change(is_first=is_first)
                except QueueUnavailable as error:
                    self._gateway.log.error("notifier store unavailable", extra={"error": str(error)})
                    await self._pause(_RETRY_SECONDS)
                is_first = False
        finally:
            self._unwatch()

    async def _until_settings_change(self, *, is_first: bool) -> None:
        settings, history = await self._store.load()
        rule = await self._store.wake_rule()
        self._unwatch()
        if not settings.enabled or settings.interval_seconds is None:
            await self._settings_changed.wait()
            return
        interval = float(settings.interval_seconds)
        loop = asyncio.get_running_loop()
        due = loop.time() + (
            pacing.seconds_to_first_poll(settings, history, self._now()) if is_first else interval
        )
        if rule.wake == "immediate":
            await self._watch_mail()
            self._wakeup.set()  # for mail that arrived before the watch
        while not self._settings_changed.is_set():
            if await self._is_due(due - loop.time()):
                await self._run_poll(self._poller.poll, rule)
                due = max(due + interval, loop.time())
                if rule.wake == "immediate":
                    await self._watch_mail()
            elif self._wakeup.is_set():
                await self._poll_unannounced(rule)

    async def _is_due(self, seconds: float) -> bool:
        """Wait for the interval. False when another event came first."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._settings_changed, self._wakeup)]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return not done

    async def _poll_unannounced(self, rule: WakeRule) -> None:
        await asyncio.sleep(_DEBOUNCE_SECONDS)
        self._wakeup.clear()
        is_repeated = self._has_unannounced
        # Before the poll, so that a change of the agent during it is not missed.
        self._has_unannounced = True
        polled = await self._run_poll(lambda: self._poller.poll_unannounced(is_repeated=is_repeated), rule)
        self._has_unannounced = polled.result == "busy"

    async def _run_poll(self, poll: Callable[[], Awaitable[PollResult]], rule: WakeRule) -> PollResult:
        try:
            polled = await poll()
        except QueueUnavailable:
            raise
        except Exception as error:  # one failed poll must not stop the loop
            self._gateway.log.exception("mail poll failed")
            await self._poller.record_failure(error)
            polled = PollResult(result="trouble")
        self._on_poll()
        if polled.mail is not None and rule.operator_note_after is not None:
            await operator_alert.notify_operator(
                polled.mail, rule.operator_note_after, self._gateway, self._mailboxes
            )
        return polled

    async def _watch_mail(self) -> None:
        """Watch the mailbox that the manifest names now. On failure only interval polls remain."""
        try:
            facade = await self._mailboxes.run("watch", lambda mail: mail)
            if facade is not self._watched:
                self._unwatch()
                self._watch = facade.transport.watch(self._wakeup.set)
                self._watched = facade
        except PosthouseError as error:
            self._gateway.log.warning("mailbox watch failed", extra={"error": str(error)})

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = self._watched = None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settings_changed.wait()
