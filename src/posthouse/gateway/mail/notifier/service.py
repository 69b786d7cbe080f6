"""Settings of the notifier and progress of messages, for its routes."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import Any

from posthouse.contracts import gateway_notifier_http as wire
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.mail.facade import MailFacade
from posthouse.gateway.mail.mailbox_pool import MailboxPool
from posthouse.gateway.mail.notifier.context import ContextPreparer
from posthouse.mailbox import ARCHIVE, Message
from posthouse.queue import NotifierHistory, Settings, WakeRecord, WakeRule

_NOTICES = tuple(name for name in wire.PutNotifier.model_fields if name.startswith("notify_block_"))


class MailNotifier:
    """Reads and changes the settings of one gateway's notifier, and reports the progress of messages."""

    def __init__(
        self,
        gateway: GatewayContext,
        mailboxes: MailboxPool,
        context: ContextPreparer,
        *,
        changed: Callable[[], None],
        busy_reason: Callable[[], Awaitable[str | None]],
    ) -> None:
        self._gateway = gateway
        self._mailboxes = mailboxes
        self._context = context
        self._changed = changed
        self._busy_reason = busy_reason
        self._store = gateway.queue.notifier

    async def status(self) -> wire.NotifierStatus:
        """Settings, and whether the mailbox is usable now."""
        settings, history = await self._store.load()
        return _status(settings, history, await self._support_error())

    async def enable(self, asked: wire.PutNotifier) -> wire.NotifierStatus:
        """Enable with the settings *asked*; the first poll runs after one interval.

        Raises:
            InvalidInput: The agent can't be compacted, or there is no usable mailbox.
            MailTransportError: Storage failed.
        """
        if asked.pre_notification_context_action == "compact":
            self._context.require_compactable()
        await self._mailboxes.run("check", MailFacade.status)
        settings, _ = await self._store.load()
        await self._store.save_settings(_merged(settings, asked))
        self._gateway.journal.add(
            "notifier_enabled", interval_seconds=asked.interval_seconds, mode=asked.mode
        )
        self._changed()
        return await self.status()

    async def disable(self) -> wire.NotifierStatus:
        """Stop polling. Settings are kept, except the interval."""
        await self._store.disable()
        self._gateway.journal.add("notifier_disabled", reason="asked for")
        self._changed()
        return await self.status()

    async def wake_settings(self) -> wire.WakeSettings:
        return _rule_shown(await self._store.wake_rule())

    async def put_wake_settings(self, asked: wire.WakeSettings) -> wire.WakeSettings:
        """Replace all wake settings; omitted fields get their defaults."""
        rule = WakeRule(
            wake=asked.wake,
            backoff_max_seconds=asked.backoff_max_seconds,
            operator_note_after=asked.operator_note_after,
        )
        await self._store.save_wake_rule(rule)
        self._changed()
        return _rule_shown(rule)

    async def progress(self, asked: wire.AskProgress) -> wire.MailProgress:
        """Progress of a message in this mailbox. Read-only.

        Raises:
            MessageNotFound: The message is not in this mailbox.
        """
        address, message = await self._mailboxes.run(
            "progress", lambda mail: (mail.transport.address, mail.transport.peek(asked.message_ref))
        )
        found = await self._store.wake_records((message.message_ref,))
        wakes = found.get(message.message_ref)
        step = step_of(message, wakes)
        return wire.MailProgress(
            message_ref=message.message_ref,
            address=address,
            step=step,
            reason=await self._reason(step),
            first_notified_at_utc=None if wakes is None else wakes.first_at_utc,
            last_notified_at_utc=None if wakes is None else wakes.last_at_utc,
            wake_count=0 if wakes is None else wakes.count,
        )

    async def _reason(self, step: wire.Step) -> str | None:
        """Why a message is not yet read; None once it is."""
        if step in ("read", "answered"):
            return None
        settings, history = await self._store.load()
        if not settings.enabled:
            return "the notifier is disabled; the agent is not woken for its mail"
        if history.last_error is not None:
            return history.last_error
        if (busy := await self._busy_reason()) is not None:
            return busy
        if step == "notified":
            return "the agent was woken and has not read it yet"
        return "the next poll announces it"

    async def _support_error(self) -> str | None:
        try:
            await self._mailboxes.run("check", MailFacade.status)
        except PosthouseError as error:
            return str(error)
        return None


def step_of(message: Message, wakes: WakeRecord | None) -> wire.Step:
    """The furthest step of *message*. Pure."""
    if message.answered:
        return "answered"
    if message.read or message.box == ARCHIVE:
        return "read"
    return "waiting" if wakes is None else "notified"


def _merged(settings: Settings, asked: wire.PutNotifier) -> Settings:
    """*settings* updated with *asked*; omitted appendix and notice settings are kept."""
    given: dict[str, Any] = {name: value for name in _NOTICES if (value := getattr(asked, name)) is not None}
    if "notify_block_shared_tokens" in given:
        given["notify_block_shared_tokens"] = tuple(given["notify_block_shared_tokens"])
    if "appendix_text" in asked.model_fields_set:
        given["appendix_text"] = asked.appendix_text
    return replace(
        settings,
        enabled=True,
        interval_seconds=asked.interval_seconds,
        mode=asked.mode,
        context_error_policy=asked.context_error_policy,
        pre_notification_context_action=asked.pre_notification_context_action,
        **given,
    )


def _status(settings: Settings, history: NotifierHistory, support_error: str | None) -> wire.NotifierStatus:
    shown = {**asdict(settings), "notify_block_shared_tokens": list(settings.notify_block_shared_tokens)}
    return wire.NotifierStatus(
        **shown,
        supported=support_error is None,
        support_error=support_error,
        last_poll_at_utc=history.last_poll_at_utc,
        last_notification_at_utc=history.last_notification_at_utc,
        last_error=history.last_error,
    )


def _rule_shown(rule: WakeRule) -> wire.WakeSettings:
    return wire.WakeSettings(
        wake=rule.wake,
        backoff_max_seconds=rule.backoff_max_seconds,
        operator_note_after=rule.operator_note_after,
    )
