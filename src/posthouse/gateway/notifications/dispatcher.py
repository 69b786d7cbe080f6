"""Delivers notices to every target of one gateway, each at its own pace.

At-least-once delivery: a gateway that dies between delivery and its record delivers again, with the same id.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from posthouse.contracts import notification_files as tf
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.events.event import BadPosition, Event, Position
from posthouse.events.journal import Journal
from posthouse.events.reader import Reader
from posthouse.events.readers import EventReaders
from posthouse.gateway.notifications import command, webhook
from posthouse.gateway.notifications.delivery_status import DeliveryOutcome, delay_after, refused
from posthouse.gateway.notifications.message import AgentIdentity, Notice, notice_of
from posthouse.gateway.notifications.targets import TargetFiles
from posthouse.gateway.notifications.triggers import occasion_of
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.support.supervision import Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationContext:
    """The gateway's data that notifications need."""

    files: TargetFiles
    agent: AgentIdentity
    #: Working directory of commands.
    folder: Path


def context_of(session: Session) -> NotificationContext:
    """The notification context of *session*."""
    return NotificationContext(
        files=TargetFiles(session.gateway_root),
        agent=AgentIdentity(agent_id=session.agent_id, agent_name=session.agent_name),
        folder=Path(session.manifest.working_directory),
    )


async def deliver(target: tf.Target, notice: Notice, context: NotificationContext) -> DeliveryOutcome:
    """Deliver *notice* in one attempt. Never fails: an error is an outcome."""
    if target.command is not None:
        return await command.run(
            target.command,
            notice,
            mark=target.target_id,
            folder=context.folder,
            within_seconds=target.timeout_seconds,
        )
    assert target.url is not None
    try:
        key = context.files.secret(target.target_id)
    except PosthouseError as error:
        return refused(str(error))
    return await webhook.post(target.url, key, notice, within_seconds=target.timeout_seconds)


class NotificationDispatcher:
    """The targets of one gateway, each with a task that follows the journal."""

    def __init__(
        self,
        context: NotificationContext,
        journal: Journal,
        readers: EventReaders,
        log: logging.Logger,
        background: Supervisor | None = None,
    ) -> None:
        self._context = context
        self._journal = journal
        self._readers = readers
        self._log = log
        self._background = background or Supervisor(log)
        self._stamp: tuple[int, int] | None = None
        self._scheduled_refresh: asyncio.Handle | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._unsubscribe: Callable[[], None] = lambda: None
        #: Attempts, by kind of target and outcome.
        self.attempts: Counter[tuple[str, str]] = Counter()

    def start(self) -> None:
        """Resume every target at its position; a target added later is picked up at the next event."""
        self._refresh(before=self._journal.last_number)
        self._unsubscribe = self._journal.listen(self._on_event)

    async def stop(self) -> None:
        """Stop all deliveries; the next gateway repeats unfinished ones."""
        self._unsubscribe()
        if self._scheduled_refresh is not None:
            self._scheduled_refresh.cancel()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_event(self, event: Event) -> None:
        # One stat for all events of one loop iteration.
        if self._scheduled_refresh is None:
            loop = asyncio.get_running_loop()
            self._scheduled_refresh = loop.call_soon(self._refresh_if_changed, event.number - 1)

    def _refresh_if_changed(self, before: int) -> None:
        self._scheduled_refresh = None
        if self._context.files.stamp() != self._stamp:
            self._refresh(before=before)

    def _refresh(self, *, before: int) -> None:
        """Read the targets again; new ones start right after event number *before*."""
        self._stamp = self._context.files.stamp()
        try:
            targets = {target.target_id: target for target in self._context.files.read()}
        except (InvalidInput, OSError) as error:
            self._log.error("notification targets unreadable", extra={"error": str(error)})
            return
        for target_id in self._running.keys() - targets.keys():
            self._running.pop(target_id).cancel()
        for target_id in targets.keys() - self._running.keys():
            follower = _TargetFollower(targets[target_id], self._context, self._log, self.attempts)
            follower.start_position(before)
            self._running[target_id] = self._background.supervise(
                f"notifications to {target_id}", partial(self._follow, follower, before)
            )

    async def _follow(self, follower: "_TargetFollower", before: int) -> None:
        """Notify one target until cancelled; a restart continues after its last notice."""
        reader = self._readers.uncounted_reader(follower.start_position(before))
        try:
            await follower.run(reader)
        finally:
            reader.close()


class _TargetFollower:
    """One target and its position in the journal."""

    def __init__(
        self,
        target: tf.Target,
        context: NotificationContext,
        log: logging.Logger,
        attempts: Counter[tuple[str, str]],
    ) -> None:
        self._target = target
        self._context = context
        self._log = log
        self._attempts = attempts
        self._state = context.files.state(target.target_id)

    def start_position(self, before: int) -> Position:
        """The stored position, or else the one right after event number *before*, which is then stored."""
        try:
            if self._state is not None:
                return Position.parse(self._state.after)
        except BadPosition as error:
            self._log.warning("notification position invalid", extra={"error": str(error)})
        position = Position(number=before, check=None)
        self._save_state(tf.TargetState(after=str(position)))
        return position

    async def run(self, reader: Reader) -> None:
        """Deliver until cancelled."""
        if self._target.command is not None:
            await asyncio.to_thread(command.end_leftovers, self._target.target_id)
        while True:
            for one in await reader.next():
                if not isinstance(one, Event):
                    self._log.warning(
                        "notification target missed events", extra={"target_id": self._target.target_id}
                    )
                    continue
                occasion = occasion_of(one)
                if occasion in self._target.occasions:
                    await self._deliver(notice_of(one, occasion, self._context.agent))

    async def _deliver(self, notice: Notice) -> None:
        attempts = 0
        while True:
            outcome = await deliver(self._target, notice, self._context)
            attempts += 1
            self._attempts[self._target.kind, "delivered" if outcome.is_delivered else "refused"] += 1
            delay = None if outcome.is_delivered else delay_after(attempts)
            if delay is None:
                break
            await asyncio.sleep(delay)
        self._record(notice, outcome, attempts)

    def _record(self, notice: Notice, outcome: DeliveryOutcome, attempts: int) -> None:
        last = tf.LastNotice(
            event_id=notice.event_id,
            occasion=notice.occasion,
            outcome="delivered" if outcome.is_delivered else "given_up",
            attempts=attempts,
            detail=outcome.detail,
            at_utc=clock.iso_seconds(clock.now()),
        )
        known = self._state
        state = tf.TargetState(
            after=notice.event_id,
            delivered=(known.delivered if known else 0) + outcome.is_delivered,
            given_up=(known.given_up if known else 0) + (not outcome.is_delivered),
            last=last,
        )
        if not outcome.is_delivered:
            fields = {"target_id": self._target.target_id, "event_id": notice.event_id}
            self._log.warning("notification given up", extra={**fields, "attempts": attempts})
        self._save_state(state)

    def _save_state(self, state: tf.TargetState) -> None:
        self._state = state
        try:
            self._context.files.save_state(self._target.target_id, state)
        except OSError as error:
            # The notice is delivered again after a restart.
            fields = {"target_id": self._target.target_id, "error": str(error)}
            self._log.warning("notification position can't be stored", extra=fields)
