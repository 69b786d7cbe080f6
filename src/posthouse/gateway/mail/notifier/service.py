"""The notifier as its routes show and change it."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import Any

from posthouse.contracts import gateway_notifier_http as wire
from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.mail.facade import Facade
from posthouse.gateway.mail.mailbox_pool import MailDesk
from posthouse.gateway.mail.notifier.context import ContextKeeper
from posthouse.mailbox import ARCHIVE, Message
from posthouse.queue import Past, Settings, WakeRule, Wakes

_NOTICES = tuple(name for name in wire.PutNotifier.model_fields if name.startswith("notify_block_"))


class Notifier:
    """The settings of one gateway's notifier, and how far mail has come."""

    def __init__(
        self,
        gateway: Surroundings,
        desk: MailDesk,
        context: ContextKeeper,
        *,
        changed: Callable[[], None],
        busy_reason: Callable[[], Awaitable[str | None]],
    ) -> None:
        self._gateway = gateway
        self._desk = desk
        self._context = context
        self._changed = changed
        self._busy_reason = busy_reason
        self._book = gateway.queue.notifier

    async def status(self) -> wire.NotifierStatus:
        """How it is set, and whether the mailbox could be polled now."""
        settings, past = await self._book.load()
        return _status(settings, past, await self._support_error())

    async def enable(self, asked: wire.PutNotifier) -> wire.NotifierStatus:
        """Take up *asked*; the first poll comes one interval later.

        Raises:
            InvalidInput, MailTrouble: There is no mailbox that could be polled.
            CantCompact: The agent can't be compacted.
        """
        if asked.pre_notification_context_action == "compact":
            self._context.require_compactable()
        await self._desk.ask("check", Facade.status)
        settings, _ = await self._book.load()
        await self._book.keep(_merged(settings, asked))
        self._gateway.journal.add(
            "notifier_enabled", interval_seconds=asked.interval_seconds, mode=asked.mode
        )
        self._changed()
        return await self.status()

    async def disable(self) -> wire.NotifierStatus:
        """Stop polling. What was set stays for the next time, the interval excepted."""
        await self._book.disable()
        self._gateway.journal.add("notifier_disabled", reason="asked for")
        self._changed()
        return await self.status()

    async def wake_settings(self) -> wire.WakeSettings:
        return _rule_shown(await self._book.rule())

    async def put_wake_settings(self, asked: wire.WakeSettings) -> wire.WakeSettings:
        """Take up *asked* whole: what is left out has its default."""
        rule = WakeRule(
            wake=asked.wake,
            backoff_max_seconds=asked.backoff_max_seconds,
            operator_note_after=asked.operator_note_after,
        )
        await self._book.keep_rule(rule)
        self._changed()
        return _rule_shown(rule)

    async def progress(self, asked: wire.AskProgress) -> wire.MailProgress:
        """How far a message has come here. Changes nothing.

        Raises:
            MessageNotFound: It is not in this mailbox.
        """
        address, message = await self._desk.ask(
            "progress", lambda mail: (mail.transport.address, mail.transport.peek(asked.message_ref))
        )
        found = await self._book.wakes((message.message_ref,))
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
        """Why a message has come no further; None when it has come as far as it can."""
        if step in ("read", "answered"):
            return None
        settings, past = await self._book.load()
        if not settings.enabled:
            return "the notifier is disabled, so nobody wakes the agent for its mail"
        if past.last_error is not None:
            return past.last_error
        if (busy := await self._busy_reason()) is not None:
            return busy
        if step == "notified":
            return "the agent was woken for it and has not read it yet"
        return "the next poll announces it"

    async def _support_error(self) -> str | None:
        try:
            await self._desk.ask("check", Facade.status)
        except PosthouseError as error:
            return str(error)
        return None


def step_of(message: Message, wakes: Wakes | None) -> wire.Step:
    """The furthest step that *message* has reached. Pure."""
    if message.answered:
        return "answered"
    if message.read or message.box == ARCHIVE:
        return "read"
    return "waiting" if wakes is None else "notified"


def _merged(settings: Settings, asked: wire.PutNotifier) -> Settings:
    """*settings* with what was asked: appendix and notices stay where they were left out."""
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


def _status(settings: Settings, past: Past, support_error: str | None) -> wire.NotifierStatus:
    shown = {**asdict(settings), "notify_block_shared_tokens": list(settings.notify_block_shared_tokens)}
    return wire.NotifierStatus(
        **shown,
        supported=support_error is None,
        support_error=support_error,
        last_poll_at_utc=past.last_poll_at_utc,
        last_notification_at_utc=past.last_notification_at_utc,
        last_error=past.last_error,
    )


def _rule_shown(rule: WakeRule) -> wire.WakeSettings:
    return wire.WakeSettings(
        wake=rule.wake,
        backoff_max_seconds=rule.backoff_max_seconds,
        operator_note_after=rule.operator_note_after,
    )
