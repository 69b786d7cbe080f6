"""Tells every target of one gateway what it wants to hear, each at its own pace.

At least once: a gateway that dies between telling and writing that down tells it again, with the same id.
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
from posthouse.events.readers import Audience
from posthouse.gateway.notifications import command, webhook
from posthouse.gateway.notifications.delivery_status import Outcome, delay_after, refused
from posthouse.gateway.notifications.message import Notice, Whose, notice_of
from posthouse.gateway.notifications.targets import TargetFiles
from posthouse.gateway.notifications.triggers import occasion_of
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.support.supervision import Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What telling needs to know of the gateway."""

    files: TargetFiles
    whose: Whose
    #: Where commands run.
    folder: Path


def surroundings_of(session: Session) -> Surroundings:
    """What telling needs to know of *session*."""
    return Surroundings(
        files=TargetFiles(session.gateway_root),
        whose=Whose(agent_id=session.agent_id, agent_name=session.agent_name),
        folder=Path(session.manifest.working_directory),
    )


async def attempt(target: tf.Target, notice: Notice, around: Surroundings) -> Outcome:
    """Tell *target* once. Never fails: what goes wrong is the outcome."""
    if target.command is not None:
        return await command.run(
            target.command,
            notice,
            mark=target.target_id,
            folder=around.folder,
            within_seconds=target.timeout_seconds,
        )
    assert target.url is not None
    try:
        key = around.files.secret(target.target_id)
    except PosthouseError as error:
        return refused(str(error))
    return await webhook.post(target.url, key, notice, within_seconds=target.timeout_seconds)


class Teller:
    """The targets of one gateway, each with a task that follows the journal."""

    def __init__(
        self,
        around: Surroundings,
        journal: Journal,
        audience: Audience,
        log: logging.Logger,
        background: Supervisor | None = None,
    ) -> None:
        self._around = around
        self._journal = journal
        self._audience = audience
        self._log = log
        self._background = background or Supervisor(log)
        self._stamp: tuple[int, int] | None = None
        self._look: asyncio.Handle | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._leave: Callable[[], None] = lambda: None
        #: Attempts, by kind of target and outcome.
        self.attempts: Counter[tuple[str, str]] = Counter()

    def start(self) -> None:
        """Take up every target where it stood; one that is added later is noticed at the next event."""
        self._renew(before=self._journal.last_number)
        self._leave = self._journal.listen(self._heard)

    async def stop(self) -> None:
        """Stop telling; what was not told to its end is told again by the next gateway."""
        self._leave()
        if self._look is not None:
            self._look.cancel()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _heard(self, event: Event) -> None:
        # A stat for what one round of the loop tells, and nothing while nothing happens.
        if self._look is None:
            loop = asyncio.get_running_loop()
            self._look = loop.call_soon(self._look_for_targets, event.number - 1)

    def _look_for_targets(self, before: int) -> None:
        self._look = None
        if self._around.files.stamp() != self._stamp:
            self._renew(before=before)

    def _renew(self, *, before: int) -> None:
        """Follow for those who are to be told now; new ones from right after number *before*."""
        self._stamp = self._around.files.stamp()
        try:
            targets = {target.target_id: target for target in self._around.files.read()}
        except (InvalidInput, OSError) as error:
            self._log.error("notification targets can't be read", extra={"error": str(error)})
            return
        for target_id in self._running.keys() - targets.keys():
            self._running.pop(target_id).cancel()
        for target_id in targets.keys() - self._running.keys():
            follower = _Follower(targets[target_id], self._around, self._log, self.attempts)
            follower.take_place(before)
            self._running[target_id] = self._background.keep(
                f"notifications to {target_id}", partial(self._follow, follower, before)
            )

    async def _follow(self, follower: "_Follower", before: int) -> None:
        """Notify one target until cancelled; a restart goes on after what it was notified of last."""
        reader = self._audience.reader(follower.take_place(before))
        try:
            await follower.run(reader)
        finally:
            reader.close()


class _Follower:
    """One target and its place in the journal."""

    def __init__(
        self,
        target: tf.Target,
        around: Surroundings,
        log: logging.Logger,
        attempts: Counter[tuple[str, str]],
    ) -> None:
        self._target = target
        self._around = around
        self._log = log
        self._attempts = attempts
        self._state = around.files.state(target.target_id)

    def take_place(self, before: int) -> Position:
        """Where to go on: after what it was told last, or right after number *before*, which is kept."""
        try:
            if self._state is not None:
                return Position.parse(self._state.after)
        except BadPosition as error:
            self._log.warning("a target's place is lost", extra={"error": str(error)})
        place = Position(number=before, check=None)
        self._keep(tf.TargetState(after=str(place)))
        return place

    async def run(self, reader: Reader) -> None:
        """Tell until cancelled."""
        if self._target.command is not None:
            await asyncio.to_thread(command.end_leftovers, self._target.target_id)
        while True:
            for one in await reader.next():
                if not isinstance(one, Event):
                    self._log.warning("a target misses events", extra={"target_id": self._target.target_id})
                    continue
                occasion = occasion_of(one)
                if occasion in self._target.occasions:
                    await self._tell(notice_of(one, occasion, self._around.whose))

    async def _tell(self, notice: Notice) -> None:
        attempts = 0
        while True:
            outcome = await attempt(self._target, notice, self._around)
            attempts += 1
            self._attempts[self._target.kind, "delivered" if outcome.is_delivered else "refused"] += 1
            delay = None if outcome.is_delivered else delay_after(attempts)
            if delay is None:
                break
            await asyncio.sleep(delay)
        self._write_down(notice, outcome, attempts)

    def _write_down(self, notice: Notice, outcome: Outcome, attempts: int) -> None:
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
            self._log.warning("a target could not be told", extra={**fields, "attempts": attempts})
        self._keep(state)

    def _keep(self, state: tf.TargetState) -> None:
        self._state = state
        try:
            self._around.files.keep_state(self._target.target_id, state)
        except OSError as error:
            # It is told again after a restart.
            fields = {"target_id": self._target.target_id, "error": str(error)}
            self._log.warning("a target's place can't be kept", extra=fields)
