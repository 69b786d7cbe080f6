"""One look of the notifier at the mailbox: what waits there, whether the agent is woken, the audit row.

The order of the decisions is the contract's: binding, mailbox, eligible mail, readiness, context, prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.mail.mailbox_pool import MailDesk, NoMailbox
from posthouse.gateway.mail.notifier import notices, pacing, readiness, wake_prompt
from posthouse.gateway.mail.notifier.context import ContextKeeper
from posthouse.mailbox import INBOX, Filter, Message, UnsupportedMail
from posthouse.queue import Past, Poll, Request, Settings, WakeRule, Wakes
from posthouse.queue.notifier import Outcome
from posthouse.support import clock, crashpoints

KIND = "mail_notifier_prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """What waits for the agent at one moment, oldest first."""

    address: str
    messages: tuple[Message, ...]
    wakes: dict[str, Wakes]

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(message.message_ref for message in self.messages)

    @property
    def has_news(self) -> bool:
        """Whether the agent was never woken for some of it."""
        return any(ref not in self.wakes for ref in self.refs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What a look came to."""

    #: `off`: the notifier is disabled. `idle`: nothing to wake for now. `busy`: news waits for the agent.
    result: Literal["off", "idle", "busy", "woken", "trouble"]
    #: What the agent was woken for.
    mail: Mail | None = None


class Poller:
    """Looks, decides and writes down what it did."""

    def __init__(
        self,
        gateway: Surroundings,
        desk: MailDesk,
        tui: TuiControl,
        *,
        base_url: str | None,
        wake_worker: Callable[[], None],
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._gateway = gateway
        self._desk = desk
        self._tui = tui
        self._base_url = base_url
        self._wake_worker = wake_worker
        self._now = now
        self._book = gateway.queue.notifier
        self.context = ContextKeeper(gateway, tui)

    async def poll(self) -> Polled:
        """Look once and write one audit row, whatever is found.

        Raises:
            QueueUnavailable: Not even the row could be written.
        """
        settings, past = await self._book.load()
        if not settings.enabled:
            return Polled(result="off")
        mail = await self._look(settings)
        if mail is None:
            return Polled(result="trouble")
        if not mail.messages:
            await self._record("empty", settings, mail)
            return Polled(result="idle")
        return await self._announce(mail, settings, past)

    async def poll_news(self, *, is_repeated: bool = False) -> Polled:
        """Look for mail that the agent was never woken for. Only news and trouble get an audit row.

        *is_repeated*: this news was found before, and the agent was busy; if it still is, nothing is written.
        """
        settings, past = await self._book.load()
        if not settings.enabled:
            return Polled(result="off")
        if is_repeated and await readiness.busy_reason(self._gateway, self._tui) is not None:
            return Polled(result="busy")
        mail = await self._look(settings)
        if mail is None:
            return Polled(result="trouble")
        return await self._announce(mail, settings, past) if mail.has_news else Polled(result="idle")

    async def _look(self, settings: Settings) -> Mail | None:
        """What is eligible; None when it could not be read, which is written down."""
        try:
            address, found = await self._desk.ask(
                "notifier_list", lambda mail: (mail.transport.address, mail.transport.find(_wanted(settings)))
            )
        except (NoMailbox, UnsupportedMail) as error:
            await self._book.disable()
            await self._record("poll_error", settings, None, detail=f"disabled: {error}", error=str(error))
            self._gateway.journal.add("notifier_disabled", reason=str(error))
            return None
        except PosthouseError as error:
            await self._record("poll_error", settings, None, detail=str(error), error=str(error))
            return None
        ordered = sorted(found, key=lambda one: (clock.parse(one.created_at_utc), one.message_ref))
        return Mail(
            address=address,
            messages=tuple(ordered),
            wakes=await self._book.wakes(one.message_ref for one in ordered),
        )

    async def failed(self, error: Exception) -> None:
        """Write the row of a look that broke off in a way that nobody foresaw."""
        settings, _ = await self._book.load()
        words = f"the gateway failed: {type(error).__name__}; its log has the details"
        await self._record("poll_error", settings, None, detail=words, error=words)

    async def _announce(self, mail: Mail, settings: Settings, past: Past) -> Polled:
        if (reason := await readiness.busy_reason(self._gateway, self._tui)) is not None:
            await self._record("busy_skip", settings, mail, detail=reason)
            return Polled(result="busy" if mail.has_news else "idle")
        if (seconds := await self._pause(mail, settings, past)) > 0:
            detail = f"unchanged mail; it wakes the agent again in {seconds:.0f} s"
            await self._record("dedup_skip", settings, mail, detail=detail)
            return Polled(result="idle")
        return await self._enqueue(mail, settings, past)

    async def _pause(self, mail: Mail, settings: Settings, past: Past) -> float:
        rule: WakeRule = await self._book.rule()
        return pacing.seconds_to_repeat(
            mail.wakes.values(),
            settings,
            rule,
            is_unchanged=not mail.has_news and pacing.digest(mail.refs) == past.last_notified_digest,
            now=self._now(),
        )

    async def _enqueue(self, mail: Mail, settings: Settings, past: Past) -> Polled:
        context = await self.context.prepare(settings, past, mail.refs)
        poll = self._poll_of(context.failed or "enqueued", settings, mail)
        poll = replace(
            poll,
            detail=context.detail,
            error=context.detail if context.failed else None,
            context_action_outcome=context.told,
            degraded_tool_name=context.degraded_tool_name,
            degraded_error_type=context.degraded_error_type,
        )
        if context.failed is not None:
            await self._book.record(poll)
            return Polled(result="trouble")
        rendered = notices.render(mail.messages, settings)
        prompt = wake_prompt.compose(
            mail.messages, settings, rendered, address=mail.address, base_url=self._base_url
        )
        request = Request(kind=KIND, payload={"prompt": prompt}, epoch=self._gateway.epoch())
        crashpoints.reach("wake-up decided")
        accepted = await self._book.record(replace(poll, refs=mail.refs, blocks=rendered.entries), request)
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
        self._gateway.changed()
        self._wake_worker()
        return Polled(result="woken", mail=mail)

    async def _record(
        self,
        outcome: Outcome,
        settings: Settings,
        mail: Mail | None,
        *,
        detail: str | None = None,
        error: str | None = None,
    ) -> None:
        poll = self._poll_of(outcome, settings, mail)
        await self._book.record(replace(poll, detail=detail, error=error))
        if outcome != "empty":
            self._gateway.log.info("mail poll", extra={"outcome": outcome, "detail": detail})

    def _poll_of(self, outcome: Outcome, settings: Settings, mail: Mail | None) -> Poll:
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


def _wanted(settings: Settings) -> Filter:
    return Filter(box=INBOX, archived=False, read_state="unread" if settings.mode == "unread_only" else "any")


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
