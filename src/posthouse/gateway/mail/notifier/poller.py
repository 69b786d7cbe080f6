"""One poll of the notifier: find eligible mail, decide whether to wake the agent, write the audit row.

The contract fixes the order of the decisions: binding, mailbox, eligible mail, readiness, context, prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.mail.mailbox_pool import MailboxPool, NoMailbox
from posthouse.gateway.mail.notifier import notices, pacing, readiness, wake_prompt
from posthouse.gateway.mail.notifier.context import ContextPreparer
from posthouse.mailbox import INBOX, MailFilter, Message, UnsupportedMailOperation
from posthouse.queue import NotifierHistory, Poll, Request, Settings, WakeRecord, WakeRule
from posthouse.queue.notifier import Outcome
from posthouse.support import clock, crashpoints

KIND = "mail_notifier_prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMail:
    """Mail that waits for the agent at one moment, oldest first."""

    address: str
    messages: tuple[Message, ...]
    wakes: dict[str, WakeRecord]

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(message.message_ref for message in self.messages)

    @property
    def has_unannounced(self) -> bool:
        """Whether some of it was never announced to the agent."""
        return any(ref not in self.wakes for ref in self.refs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """Result of one poll."""

    #: `off`: the notifier is disabled. `idle`: no reason to wake. `busy`: unannounced mail waits.
    result: Literal["off", "idle", "busy", "woken", "trouble"]
    #: What the agent was woken for.
    mail: PendingMail | None = None


class MailPoller:
    """Polls the mailbox, wakes the agent and writes audit rows."""

    def __init__(
        self,
        gateway: GatewayContext,
        mailboxes: MailboxPool,
        tui: TuiControl,
        *,
        base_url: str | None,
        wake_worker: Callable[[], None],
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._gateway = gateway
        self._mailboxes = mailboxes
        self._tui = tui
        self._base_url = base_url
        self._wake_worker = wake_worker
        self._now = now
        self._store = gateway.queue.notifier
        self.context = ContextPreparer(gateway, tui)

    async def poll(self) -> PollResult:
        """Poll once and always write one audit row.

        Raises:
            QueueUnavailable: The row could not be written.
        """
        settings, history = await self._store.load()
        if not settings.enabled:
            return PollResult(result="off")
        mail = await self._find_mail(settings)
        if mail is None:
            return PollResult(result="trouble")
        if not mail.messages:
            await self._record("empty", settings, mail)
            return PollResult(result="idle")
        return await self._notify(mail, settings, history)

    async def poll_unannounced(self, *, is_repeated: bool = False) -> PollResult:
        """Poll for unannounced mail. Writes an audit row for new mail and for errors only.

        *is_repeated*: the previous poll found this mail and a busy agent; if still busy, no row is written.
        """
        settings, history = await self._store.load()
        if not settings.enabled:
            return PollResult(result="off")
        if is_repeated and await readiness.busy_reason(self._gateway, self._tui) is not None:
            return PollResult(result="busy")
        mail = await self._find_mail(settings)
        if mail is None:
            return PollResult(result="trouble")
        return (
            await self._notify(mail, settings, history) if mail.has_unannounced else PollResult(result="idle")
        )

    async def _find_mail(self, settings: Settings) -> PendingMail | None:
        """Eligible mail; None when it could not be read, which an audit row records."""
        try:
            address, found = await self._mailboxes.run(
                "notifier_list", lambda mail: (mail.transport.address, mail.transport.find(_filter(settings)))
            )
        except (NoMailbox, UnsupportedMailOperation) as error:
            await self._store.disable()
            await self._record("poll_error", settings, None, detail=f"disabled: {error}", error=str(error))
            self._gateway.journal.add("notifier_disabled", reason=str(error))
            return None
        except PosthouseError as error:
            await self._record("poll_error", settings, None, detail=str(error), error=str(error))
            return None
        ordered = sorted(found, key=lambda one: (clock.parse(one.created_at_utc), one.message_ref))
        return PendingMail(
            address=address,
            messages=tuple(ordered),
            wakes=await self._store.wake_records(one.message_ref for one in ordered),
        )

    async def record_failure(self, error: Exception) -> None:
        """Write the audit row of a poll that failed unexpectedly."""
        settings, _ = await self._store.load()
        message = f"the gateway failed: {type(error).__name__}; its log has the details"
        await self._record("poll_error", settings, None, detail=message, error=message)

    async def _notify(self, mail: PendingMail, settings: Settings, history: NotifierHistory) -> PollResult:
        if (reason := await readiness.busy_reason(self._gateway, self._tui)) is not None:
            await self._record("busy_skip", settings, mail, detail=reason)
            return PollResult(result="busy" if mail.has_unannounced else "idle")
        if (seconds := await self._pause(mail, settings, history)) > 0:
            detail = f"unchanged mail; it wakes the agent again in {seconds:.0f} s"
            await self._record("dedup_skip", settings, mail, detail=detail)
            return PollResult(result="idle")
        return await self._enqueue(mail, settings, history)

    async def _pause(self, mail: PendingMail, settings: Settings, history: NotifierHistory) -> float:
        rule: WakeRule = await self._store.wake_rule()
        return pacing.seconds_to_repeat(
            mail.wakes.values(),
            settings,
            rule,
            is_unchanged=not mail.has_unannounced
            and pacing.digest(mail.refs) == history.last_notified_digest,
            now=self._now(),
        )

    async def _enqueue(self, mail: PendingMail, settings: Settings, history: NotifierHistory) -> PollResult:
        context = await self.context.prepare(settings, history, mail.refs)
        poll = self._poll_of(context.failed or "enqueued", settings, mail)
        poll = replace(
            poll,
            detail=context.detail,
            error=context.detail if context.failed else None,
            context_action_outcome=context.action_outcome,
            degraded_tool_name=context.degraded_tool_name,
            degraded_error_type=context.degraded_error_type,
        )
        if context.failed is not None:
            await self._store.record_poll(poll)
            return PollResult(result="trouble")
        rendered = notices.render(mail.messages, settings)
        prompt = wake_prompt.compose(
            mail.messages, settings, rendered, address=mail.address, base_url=self._base_url
        )
        request = Request(kind=KIND, payload={"prompt": prompt}, epoch=self._gateway.epoch())
        crashpoints.reach("wake-up decided")
        accepted = await self._store.record_poll(
            replace(poll, refs=mail.refs, blocks=rendered.entries), request
        )
        assert accepted is not None
        crashpoints.reach("wake-up accepted")
        self._gateway.journal.add(
            "accepted_internal",
            request_id=accepted.request_id,
            request_kind=KIND,
            accepted_at_utc=accepted.accepted_at_utc,
        )
        self._gateway.log.info(
            "agent woken for mail", extra={"request_id": accepted.request_id, "messages": len(mail.messages)}
        )
        self._gateway.notify_changed()
        self._wake_worker()
        return PollResult(result="woken", mail=mail)

    async def _record(
        self,
        outcome: Outcome,
        settings: Settings,
        mail: PendingMail | None,
        *,
        detail: str | None = None,
        error: str | None = None,
    ) -> None:
        poll = self._poll_of(outcome, settings, mail)
        await self._store.record_poll(replace(poll, detail=detail, error=error))
        if outcome != "empty":
            self._gateway.log.info("mail poll", extra={"outcome": outcome, "detail": detail})

    def _poll_of(self, outcome: Outcome, settings: Settings, mail: PendingMail | None) -> Poll:
        status = self._gateway.status()
        return Poll(
            outcome=outcome,
            settings=settings,
            request_admission=status.request_admission,
            active_execution=status.active_execution,
            queue_depth=status.queue_depth,
            eligible=None if mail is None else _summary(mail.messages),
            digest=None if mail is None else pacing.digest(mail.refs),
        )


def _filter(settings: Settings) -> MailFilter:
    return MailFilter(
        box=INBOX, archived=False, read_state="unread" if settings.mode == "unread_only" else "any"
    )


def _summary(messages: Sequence[Message]) -> list[dict[str, str | None]]:
    return [
        {
            "message_ref": one.message_ref,
            "thread_ref": one.thread_ref,
            "created_at_utc": one.created_at_utc,
            "subject": one.subject,
        }
        for one in messages
    ]
