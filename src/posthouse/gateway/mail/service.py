"""The mail components of one gateway: mailbox, poller, scheduler and notifier."""

from collections.abc import Callable
from pathlib import Path

from posthouse.contracts.gateway_mail_http import MailAction
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.diagnostics import Diagnostics
from posthouse.gateway.mail.mailbox_pool import MailboxPool, Opener
from posthouse.gateway.mail.notifier import readiness
from posthouse.gateway.mail.notifier.poller import MailPoller
from posthouse.gateway.mail.notifier.scheduler import NotifierScheduler
from posthouse.gateway.mail.notifier.service import MailNotifier
from posthouse.gateway.status import Binding


class MailService:
    """The mail of one agent."""

    def __init__(
        self,
        gateway: GatewayContext,
        tui: TuiControl,
        *,
        binding: Binding,
        open_mailbox: Opener,
        diagnostics: Diagnostics,
        wake_worker: Callable[[], None],
        on_poll: Callable[[], None],
    ) -> None:
        self._gateway = gateway
        manifest = gateway.attach.manifest_path
        self.mailboxes = MailboxPool(
            None if manifest is None else Path(manifest),
            opener=open_mailbox,
            diagnostics=diagnostics,
        )
        self.poller = MailPoller(
            gateway,
            self.mailboxes,
            tui,
            # Mail is served on loopback only.
            base_url=f"http://127.0.0.1:{binding.port}" if binding.host == "127.0.0.1" else None,
            wake_worker=wake_worker,
        )
        self._scheduler = NotifierScheduler(gateway, self.mailboxes, self.poller, on_poll=on_poll)
        self.notifier = MailNotifier(
            gateway,
            self.mailboxes,
            self.poller.context,
            changed=self._scheduler.settings_changed,
            busy_reason=lambda: readiness.busy_reason(gateway, tui),
        )

    async def run(self) -> None:
        """Poll and announce mail until cancelled."""
        await self._scheduler.run()

    def agent_changed(self) -> None:
        """Signal that the agent may be free for waiting mail."""
        self._scheduler.agent_changed()

    def record_delivery(self, answer: MailAction) -> None:
        """Write an event for a message sent through this gateway: recipient count, no content."""
        self._gateway.journal.add(
            "mail_delivered",
            operation=answer.operation,
            message_ref=answer.message.message_ref,
            recipients=len(answer.message.to) + len(answer.message.cc),
        )

    def close(self) -> None:
        """Close the mailbox."""
        self.mailboxes.close()
