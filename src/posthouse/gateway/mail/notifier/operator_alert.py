"""Notifies the operator's mailbox of mail that stays unread after repeated wake-ups."""

from collections.abc import Sequence

from posthouse.contracts.mail_address import OPERATOR_ADDRESS
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.mail.mailbox_pool import MailboxPool
from posthouse.gateway.mail.notifier.poller import PendingMail
from posthouse.mailbox import Draft, Message

_MAX_NAMED = 50


async def notify_operator(
    mail: PendingMail, after: int, gateway: GatewayContext, mailboxes: MailboxPool
) -> None:
    """Send one note about the messages of *mail* still unread after *after* wake-ups; once per message.

    A failure is logged; the next wake-up retries.
    """
    ignored = [message for message in mail.messages if _is_ignored(message, mail, after)]
    if not ignored:
        return
    draft = _note(ignored, gateway.attach.tmux_session_name, after)
    try:
        await mailboxes.run("operator note", lambda facade: facade.transport.send(draft))
    except PosthouseError as error:
        gateway.log.warning("operator note about unread mail could not be sent", extra={"error": str(error)})
        return
    await gateway.queue.notifier.record_operator_notes(message.message_ref for message in ignored)
    gateway.journal.add("notifier_unanswered", message_refs=[message.message_ref for message in ignored])


def _is_ignored(message: Message, mail: PendingMail, after: int) -> bool:
    if message.read or message.answered or (wakes := mail.wakes.get(message.message_ref)) is None:
        return False
    # The count does not yet include the wake-up that was just enqueued.
    return wakes.count + 1 >= after and not wakes.is_noted


def _note(ignored: Sequence[Message], session_name: str, after: int) -> Draft:
    lines = [f"- {one.message_ref} from {one.sender.address}" for one in ignored[:_MAX_NAMED]]
    if len(ignored) > _MAX_NAMED:
        lines.append(f"- and {len(ignored) - _MAX_NAMED} more")
    body = "\n".join(
        (
            f"The agent in tmux session {session_name} was woken {after} times or more for these messages,",
            "and has neither read nor answered them:",
            "",
            *lines,
            "",
            "Look at the agent: it may be stuck in a dialog, out of budget, or unable to reach its mailbox.",
        )
    )
    return Draft(to=(OPERATOR_ADDRESS,), subject="Mail that is not being read", body=body)
