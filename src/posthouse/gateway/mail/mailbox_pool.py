"""Runs mailbox operations of one gateway in a bounded thread pool.

Operations wait neither for the execution slot nor on the event loop: a hanging disk blocks a few threads
and nothing else.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from posthouse.contracts.manifest import Mailbox
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.gateway.diagnostics import Diagnostics
from posthouse.gateway.mail.facade import MailFacade
from posthouse.mailbox import MailTransportError, Transport
from posthouse.sessions import session as sessions
from posthouse.support.threads import BoundedThreads, TookTooLong

T = TypeVar("T")
Opener = Callable[[Mailbox], Transport]

_MAX_CONCURRENT = 4
_MAX_WAITING = 64
_STORAGE_SECONDS = 20.0


class NoMailbox(InvalidInput):
    """The session has no usable mailbox."""

    code = "no_mailbox"


class MailboxPool:
    """The mailbox of one session; the manifest is read again for each operation."""

    def __init__(self, manifest_path: Path | None, *, opener: Opener, diagnostics: Diagnostics) -> None:
        self._manifest_path = manifest_path
        self._opener = opener
        self._diagnostics = diagnostics
        self._threads = BoundedThreads(
            max_running=_MAX_CONCURRENT, max_waiting=_MAX_WAITING, name="the mailbox"
        )
        self._open_lock = threading.Lock()
        self._facade: MailFacade | None = None

    async def run(self, operation: str, work: Callable[[MailFacade], T]) -> T:
        """Run *work* on the mailbox in a thread and return its result.

        Raises:
            NoMailbox: The session is bound to none, or its manifest can't be read.
            MailTransportError: Storage failed or timed out; the operation may still complete.
            Unavailable: Too many calls wait for storage.
            PosthouseError: The transport refused.
        """
        self._diagnostics.note("info", "gateway.mailbox_operation_started", operation=operation)
        try:
            answer = await self._threads.run(lambda: work(self.facade()), within_seconds=_STORAGE_SECONDS)
        except TookTooLong as error:
            self._note_failure(operation, error)
            raise MailTransportError(f"{error}; the operation may still complete") from error
        except PosthouseError as error:
            self._note_failure(operation, error)
            raise
        self._diagnostics.note("info", "gateway.mailbox_operation_succeeded", operation=operation)
        return answer

    def facade(self) -> MailFacade:
        """The mailbox that the manifest names now, opened if needed. Blocks.

        Raises:
            NoMailbox: The manifest names none.
            PosthouseError: It can't be opened.
        """
        binding = self._binding()
        with self._open_lock:
            if self._facade is None or self._facade.binding != binding:
                self.close()
                self._facade = MailFacade(binding, self._opener(binding))
            return self._facade

    def close(self) -> None:
        """Close the mailbox. A later operation opens it again."""
        if self._facade is not None:
            self._facade.transport.close()
            self._facade = None

    def _binding(self) -> Mailbox:
        if self._manifest_path is None:
            raise NoMailbox("the session has no manifest, so its mailbox is unknown")
        try:
            binding = sessions.read(self._manifest_path).manifest.launch_plan.mailbox
        except PosthouseError as error:
            raise NoMailbox(f"the session's mailbox is unknown: {error}") from error
        if binding is None:
            raise NoMailbox("this agent has no mailbox; give it one with `agents single … mailbox register`")
        return binding

    def _note_failure(self, operation: str, error: PosthouseError) -> None:
        self._diagnostics.note(
            "warning",
            "gateway.mailbox_operation_failed",
            key=f"mailbox {operation} {error.code}",
            operation=operation,
            error_code=error.code,
        )
