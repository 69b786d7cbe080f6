"""Operations on one bound mailbox, with results as plain data in the shape of the contract.

Used by the gateway's routes, and by the command line without a gateway. Calls block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posthouse.contracts.manifest import Mailbox
from posthouse.gateway.mail import view
from posthouse.mailbox import Draft, Flags, MailFilter, Message, OperatorNote, ReplyDraft, Transport


@dataclass(frozen=True, slots=True)
class MailFacade:
    """The mailbox of one session. Raises the errors of its transport."""

    binding: Mailbox
    transport: Transport

    def status(self) -> dict[str, Any]:
        """Identity of the mailbox, after a check that it is usable."""
        self.transport.check()
        return {**self._identity(), "bindings_version": self.binding.bindings_version}

    def list(self, wanted: MailFilter) -> dict[str, Any]:
        messages = self.transport.find(wanted)
        return {
            **self._identity(),
            "box": wanted.box,
            "message_count": len(messages),
            "open_count": sum(one.archived is not True for one in messages),
            "unread_count": sum(one.unread is True for one in messages),
            "messages": [view.message(one, with_body=wanted.include_body) for one in messages],
        }

    def peek(self, message_ref: str, *, box: str | None = None) -> dict[str, Any]:
        return self._message_result("peek", self.transport.peek(message_ref, box=box))

    def read(self, message_ref: str, *, box: str | None = None) -> dict[str, Any]:
        return self._message_result("read", self.transport.read(message_ref, box=box))

    def send(self, draft: Draft) -> dict[str, Any]:
        return self._message_result("send", self.transport.send(draft))

    def post(self, note: OperatorNote) -> dict[str, Any]:
        return self._message_result("post", self.transport.post(note))

    def reply(self, answer: ReplyDraft) -> dict[str, Any]:
        return self._message_result("reply", self.transport.reply(answer))

    def mark(self, message_refs: Sequence[str], flags: Flags) -> dict[str, Any]:
        return self._messages_result("mark", self.transport.mark(message_refs, flags))

    def move(self, message_refs: Sequence[str], box: str) -> dict[str, Any]:
        return self._messages_result("move", self.transport.move(message_refs, box))

    def archive(self, message_refs: Sequence[str]) -> dict[str, Any]:
        return self._messages_result("archive", self.transport.archive(message_refs))

    def thread(self, ref: str, *, limit: int | None = None) -> dict[str, Any]:
        """The conversation that *ref* names, by its thread or by any of its messages."""
        thread_ref = self.transport.peek(ref).thread_ref if view.is_message(ref) else ref
        messages = self.transport.thread(thread_ref or ref, limit=limit)
        return {**self._messages_result("thread", messages), "thread_ref": thread_ref}

    def search(self, words: str, *, box: str | None, limit: int) -> dict[str, Any]:
        found = self.transport.search(words, box=box, limit=limit)
        return self._messages_result("search", found, with_body=False)

    def save_attachment(self, message_ref: str, attachment_id: str, target: Path) -> dict[str, Any]:
        saved = self.transport.save_attachment(message_ref, attachment_id, target)
        return {
            **self._identity(),
            "operation": "save_attachment",
            "path": str(saved.path),
            "attachment": view.attachment(saved.attachment),
        }

    def _identity(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "transport": self.transport.name,
            "principal_id": self.transport.principal_id,
            "address": self.transport.address,
        }

    def _message_result(self, operation: str, message: Message) -> dict[str, Any]:
        return {**self._identity(), "operation": operation, "message": view.message(message, with_body=True)}

    def _messages_result(
        self, operation: str, messages: Sequence[Message], *, with_body: bool = True
    ) -> dict[str, Any]:
        listed: Sequence[Mapping[str, Any]] = [view.message(one, with_body=with_body) for one in messages]
        return {**self._identity(), "operation": operation, "message_count": len(listed), "messages": listed}
