"""Where mail is asked for inside one gateway: which mailbox it is, and threads that wait for storage.

Nothing here waits for the execution slot, and nothing waits on the loop: a disk that hangs keeps a few
threads, and everybody else is served.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from posthouse.contracts.manifest import Mailbox
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.gateway.diagnostics import Diagnostics
from posthouse.gateway.mail.facade import Facade
from posthouse.mailbox import MailTrouble, Transport
from posthouse.sessions import session as sessions
from posthouse.support.threads import Threads, TookTooLong

T = TypeVar("T")
Opener = Callable[[Mailbox], Transport]

_AT_ONCE = 4
_WAITING = 64
_STORAGE_SECONDS = 20.0


class NoMailbox(InvalidInput):
    """The session has no mailbox that can be used."""

    code = "no_mailbox"


class MailDesk:
    """The mailbox of one session, as its manifest names it at each question."""

    def __init__(self, manifest_path: Path | None, *, opener: Opener, diagnostics: Diagnostics) -> None:
        self._manifest_path = manifest_path
        self._opener = opener
        self._diagnostics = diagnostics
        self._threads = Threads(at_once=_AT_ONCE, waiting=_WAITING, name="the mailbox")
        self._opening = threading.Lock()
        self._open: Facade | None = None

    async def ask(self, operation: str, work: Callable[[Facade], T]) -> T:
        """What *work* makes of the mailbox, in a thread.

        Raises:
            NoMailbox: The session is bound to none, or its manifest can't be read.
            MailTrouble: Storage failed, or did not answer in time; what was asked may still happen.
            TooMuchWaits: Too many already wait for storage.
            Whatever the transport refuses with.
        """
        self._diagnostics.note("info", "gateway.mailbox_operation_started", operation=operation)
        try:
            answer = await self._threads.run(lambda: work(self.facade()), within_seconds=_STORAGE_SECONDS)
        except TookTooLong as error:
            self._failed(operation, error)
            raise MailTrouble(f"{error}; what was asked may still happen") from error
        except PosthouseError as error:
            self._failed(operation, error)
            raise
        self._diagnostics.note("info", "gateway.mailbox_operation_succeeded", operation=operation)
        return answer

    def facade(self) -> Facade:
        """The mailbox that the manifest names now. Blocks.

        Raises:
            NoMailbox: It names none.
            Whatever opening it refuses with.
        """
        binding = self._binding()
        with self._opening:
            if self._open is None or self._open.binding != binding:
                self.close()
                self._open = Facade(binding, self._opener(binding))
            return self._open

    def close(self) -> None:
        """Let go of the mailbox. A later question opens it again."""
        if self._open is not None:
            self._open.transport.close()
            self._open = None

    def _binding(self) -> Mailbox:
        if self._manifest_path is None:
            raise NoMailbox("the session names no manifest, and so no mailbox")
        try:
            binding = sessions.read(self._manifest_path).manifest.launch_plan.mailbox
        except PosthouseError as error:
            raise NoMailbox(f"the session's mailbox is not known: {error}") from error
        if binding is None:
            raise NoMailbox("this agent has no mailbox; give it one with `agents single … mailbox register`")
        return binding

    def _failed(self, operation: str, error: PosthouseError) -> None:
        self._diagnostics.note(
            "warning",
            "gateway.mailbox_operation_failed",
            key=f"mailbox {operation} {error.code}",
            operation=operation,
            error_code=error.code,
        )
