"""One bound mailbox in the words of the contract: every operation, and its answer as plain data.

The gateway serves these answers, and the command line gives the same ones without a gateway. Calls block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posthouse.contracts.manifest import Mailbox
from posthouse.gateway.mail import view
from posthouse.mailbox import Answer, Draft, Filter, Flags, Message, Note, Transport


@dataclass(frozen=True, slots=True)
class Facade:
    """The mailbox that a session's manifest names. Raises what its transport raises."""

    binding: Mailbox
    transport: Transport

    def status(self) -> dict[str, Any]:
        """Whose mailbox it is, once it is known to be usable."""
        self.transport.check()
        return {**self._whose(), "bindings_version": self.binding.bindings_version}

    def list(self, wanted: Filter) -> dict[str, Any]:
        messages = self.transport.find(wanted)
        return {
            **self._whose(),
            "box": wanted.box,
            "message_count": len(messages),
            "open_count": sum(one.archived is not True for one in messages),
            "unread_count": sum(one.unread is True for one in messages),
            "messages": [view.message(one, with_body=wanted.include_body) for one in messages],
        }

    def peek(self, message_ref: str, *, box: str | None = None) -> dict[str, Any]:
        return self._one("peek", self.transport.peek(message_ref, box=box))

    def read(self, message_ref: str, *, box: str | None = None) -> dict[str, Any]:
        return self._one("read", self.transport.read(message_ref, box=box))

    def send(self, draft: Draft) -> dict[str, Any]:
        return self._one("send", self.transport.send(draft))

    def post(self, note: Note) -> dict[str, Any]:
        return self._one("post", self.transport.post(note))

    def reply(self, answer: Answer) -> dict[str, Any]:
        return self._one("reply", self.transport.reply(answer))

    def mark(self, message_refs: Sequence[str], flags: Flags) -> dict[str, Any]:
        return self._several("mark", self.transport.mark(message_refs, flags))

    def move(self, message_refs: Sequence[str], box: str) -> dict[str, Any]:
        return self._several("move", self.transport.move(message_refs, box))

    def archive(self, message_refs: Sequence[str]) -> dict[str, Any]:
        return self._several("archive", self.transport.archive(message_refs))

    def thread(self, ref: str, *, limit: int | None = None) -> dict[str, Any]:
        """The conversation of which *ref* is the thread or any message."""
        thread_ref = self.transport.peek(ref).thread_ref if view.is_message(ref) else ref
        messages = self.transport.thread(thread_ref or ref, limit=limit)
        return {**self._several("thread", messages), "thread_ref": thread_ref}

    def search(self, words: str, *, box: str | None, limit: int) -> dict[str, Any]:
        found = self.transport.search(words, box=box, limit=limit)
        return self._several("search", found, with_body=False)

    def save_attachment(self, message_ref: str, attachment_id: str, target: Path) -> dict[str, Any]:
        saved = self.transport.save_attachment(message_ref, attachment_id, target)
        return {
            **self._whose(),
            "operation": "save_attachment",
            "path": str(saved.path),
            "attachment": view.attachment(saved.attachment),
        }

    def _whose(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "transport": self.transport.name,
            "principal_id": self.transport.principal_id,
            "address": self.transport.address,
        }

    def _one(self, operation: str, message: Message) -> dict[str, Any]:
        return {**self._whose(), "operation": operation, "message": view.message(message, with_body=True)}

    def _several(
        self, operation: str, messages: Sequence[Message], *, with_body: bool = True
    ) -> dict[str, Any]:
        listed: Sequence[Mapping[str, Any]] = [view.message(one, with_body=with_body) for one in messages]
        return {**self._whose(), "operation": operation, "message_count": len(listed), "messages": listed}
