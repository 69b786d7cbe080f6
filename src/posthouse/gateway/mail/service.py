"""Everything about mail inside one gateway, put together."""

from collections.abc import Callable
from pathlib import Path

from posthouse.contracts.gateway_mail_http import MailAction
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.tui import TuiControl
from posthouse.gateway.diagnostics import Diagnostics
from posthouse.gateway.mail.mailbox_pool import MailDesk, Opener
from posthouse.gateway.mail.notifier import readiness
from posthouse.gateway.mail.notifier.poller import Poller
from posthouse.gateway.mail.notifier.scheduler import NotifierClock
from posthouse.gateway.mail.notifier.service import Notifier
from posthouse.gateway.status import Binding


class MailOffice:
    """The mail of one agent: asked for at the desk, announced by the notifier."""

    def __init__(
        self,
        gateway: Surroundings,
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
        self.desk = MailDesk(
            None if manifest is None else Path(manifest),
            opener=open_mailbox,
            diagnostics=diagnostics,
        )
        self.poller = Poller(
            gateway,
            self.desk,
            tui,
            # Mail is served on loopback alone, whatever else is.
            base_url=f"http://127.0.0.1:{binding.port}" if binding.host == "127.0.0.1" else None,
            wake_worker=wake_worker,
        )
        self._clock = NotifierClock(gateway, self.desk, self.poller, on_poll=on_poll)
        self.notifier = Notifier(
            gateway,
            self.desk,
            self.poller.context,
            changed=self._clock.settings_changed,
            busy_reason=lambda: readiness.busy_reason(gateway, tui),
        )

    async def run(self) -> None:
        """Announce mail until cancelled."""
        await self._clock.run()

    def agent_changed(self) -> None:
        """The agent may be free for what waits for it."""
        self._clock.agent_changed()

    def delivered(self, answer: MailAction) -> None:
        """Tell of a message that went out through this gateway: to how many, never what."""
        self._gateway.journal.add(
            "mail_delivered",
            operation=answer.operation,
            message_ref=answer.message.message_ref,
            recipients=len(answer.message.to) + len(answer.message.cc),
        )

    def close(self) -> None:
        """Let go of the mailbox."""
        self.desk.close()
