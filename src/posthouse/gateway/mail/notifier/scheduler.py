"""When the notifier polls: at its interval and, where that was asked for, as soon as mail comes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.mail.facade import Facade
from posthouse.gateway.mail.mailbox_pool import MailDesk
from posthouse.gateway.mail.notifier import operator_alert, pacing
from posthouse.gateway.mail.notifier.poller import Polled, Poller
from posthouse.mailbox import Watch
from posthouse.queue import QueueUnavailable, WakeRule
from posthouse.support import clock

#: Mail that comes together wakes once.
_GATHER_SECONDS = 0.2
#: A file that could not be used is tried again after this.
_RETRY_SECONDS = 30.0


class NotifierClock:
    """Runs the polls of one gateway, one at a time. Disabled it waits for nothing but its settings."""

    def __init__(
        self,
        gateway: Surroundings,
        desk: MailDesk,
        poller: Poller,
        *,
        on_poll: Callable[[], None],
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._gateway = gateway
        self._desk = desk
        self._poller = poller
        self._on_poll = on_poll
        self._now = now
        self._book = gateway.queue.notifier
        self._settings_changed = asyncio.Event()
        #: Mail came, or the agent that was busy when it came has changed.
        self._stirred = asyncio.Event()
        #: News was found and the agent was busy.
        self._news_waits = False
        self._watched: Facade | None = None
        self._watch: Watch | None = None

    def settings_changed(self) -> None:
        """Take up new settings; the wait for the next poll begins anew."""
        self._settings_changed.set()

    def agent_changed(self) -> None:
        """The agent may have become free for news that waits."""
        if self._news_waits:
            self._stirred.set()

    async def run(self) -> None:
        """Poll until cancelled."""
        is_first = True
        try:
            while True:
                self._settings_changed.clear()
                try:
                    await self._until_settings_change(is_first=is_first)
                except QueueUnavailable as error:
                    self._gateway.log.error("the notifier can't use its file", extra={"error": str(error)})
                    await self._pause(_RETRY_SECONDS)
                is_first = False
        finally:
            self._unwatch()

    async def _until_settings_change(self, *, is_first: bool) -> None:
        settings, past = await self._book.load()
        rule = await self._book.rule()
        self._unwatch()
        if not settings.enabled or settings.interval_seconds is None:
            await self._settings_changed.wait()
            return
        interval = float(settings.interval_seconds)
        loop = asyncio.get_running_loop()
        due = loop.time() + (
            pacing.seconds_to_first_poll(settings, past, self._now()) if is_first else interval
        )
        if rule.wake == "immediate":
            await self._watch_mail()
            self._stirred.set()  # for what came before anybody watched
        while not self._settings_changed.is_set():
            if await self._is_due(due - loop.time()):
                await self._polled(self._poller.poll, rule)
                due = max(due + interval, loop.time())
                if rule.wake == "immediate":
                    await self._watch_mail()
            elif self._stirred.is_set():
                await self._look_for_news(rule)

    async def _is_due(self, seconds: float) -> bool:
        """Wait. True: the interval is over. False: something else came up before."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._settings_changed, self._stirred)]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return not done

    async def _look_for_news(self, rule: WakeRule) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        self._stirred.clear()
        is_repeated = self._news_waits
        # Before the look: an agent that changes while it lasts must not be missed.
        self._news_waits = True
        polled = await self._polled(lambda: self._poller.poll_news(is_repeated=is_repeated), rule)
        self._news_waits = polled.result == "busy"

    async def _polled(self, poll: Callable[[], Awaitable[Polled]], rule: WakeRule) -> Polled:
        try:
            polled = await poll()
        except QueueUnavailable:
            raise
        except Exception as error:  # the next poll must not suffer from this one
            self._gateway.log.exception("mail poll failed")
            await self._poller.failed(error)
            polled = Polled(result="trouble")
        self._on_poll()
        if polled.mail is not None and rule.operator_note_after is not None:
            await operator_alert.tell_operator(
                polled.mail, rule.operator_note_after, self._gateway, self._desk
            )
        return polled

    async def _watch_mail(self) -> None:
        """Hear of new mail in the mailbox that the manifest names now. Failing that, the interval is left."""
        try:
            facade = await self._desk.ask("watch", lambda mail: mail)
            if facade is not self._watched:
                self._unwatch()
                self._watch = facade.transport.watch(self._stirred.set)
                self._watched = facade
        except PosthouseError as error:
            self._gateway.log.warning("new mail can't be watched for", extra={"error": str(error)})

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = self._watched = None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settings_changed.wait()
