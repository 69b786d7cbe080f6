"""One gateway in a host: served, and served again after a failure, until it is let go."""

import asyncio
import contextlib
import logging
from contextlib import ExitStack
from pathlib import Path

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import gateway_host as gh
from posthouse.contracts import names
from posthouse.errors import Conflict, PosthouseError
from posthouse.gateway import assembly
from posthouse.gateway.assembly import Serving
from posthouse.gateway.status import Binding
from posthouse.gateway_lifecycle.gateway_lock import LOCK, LOCK_WAIT_SECONDS
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support import files, locks
from posthouse.web.server import bind

_FIRST_RETRY_SECONDS = 1.0
_LAST_RETRY_SECONDS = 60.0
_STOP_SECONDS = 8.0


class AlreadyServed(Conflict):
    """Another process serves that gateway; nothing was touched."""

    code = "already_served"


class Tenant:
    """A gateway of the host. Whatever becomes of it, the host and the other gateways go on."""

    def __init__(self, seat: gh.Seat, log: logging.Logger) -> None:
        self._seat = seat
        self._log = log
        self._serving: Serving | None = None
        self._port: int | None = None
        #: Why the last attempt ended; None while one is under way.
        self._failure: Exception | None = None
        self._has_tried = asyncio.Event()
        self._is_leaving = asyncio.Event()
        self._task = asyncio.create_task(self._keep())

    @property
    def tenancy(self) -> gh.Tenancy:
        """How it is now."""
        if self._port is not None:
            return gh.Tenancy(gateway_root=self._seat.gateway_root, state="serving", port=self._port)
        if self._failure is None:
            return gh.Tenancy(gateway_root=self._seat.gateway_root, state="starting")
        problem = str(self._failure) or type(self._failure).__name__
        return gh.Tenancy(gateway_root=self._seat.gateway_root, state="failed", problem=problem)

    async def tried(self) -> Exception | None:
        """Return when the first attempt has come to something: why it failed, or None when it serves."""
        await self._has_tried.wait()
        return self._failure

    async def leave(self) -> None:
        """Stop serving it. Returns when its lock is free."""
        self._is_leaving.set()
        await self._has_tried.wait()
        if self._serving is not None:
            self._serving.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.shield(self._task)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        delay = _FIRST_RETRY_SECONDS
        while not self._is_leaving.is_set():
            try:
                made, stack = await self._open()
                with stack:
                    await self._serve(made)
            except Exception as error:  # noqa: BLE001 - one broken gateway must not end the others
                self._failure = error
                self._log.warning(
                    "a gateway does not serve", extra={"root": self._seat.gateway_root, "error": str(error)}
                )
                if not isinstance(error, PosthouseError):
                    self._log.error("unexpectedly", exc_info=error)
            finally:
                self._serving = self._port = None
                self._has_tried.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._is_leaving.wait()
            delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def _open(self) -> tuple[Serving, ExitStack]:
        """The gateway, put together, and the lock of its root, which goes with it."""
        with ExitStack() as stack:
            session = await asyncio.to_thread(self._take, stack)
            listener = bind(self._seat.host, self._seat.port or _port_of(session))
            stack.callback(listener.close)
            binding = Binding(host=self._seat.host, port=listener.getsockname()[1])
            made = await assembly.prepare(session, listener, binding, _timings_of(session))
            return made, stack.pop_all()

    def _take(self, stack: ExitStack) -> Session:
        root = Path(self._seat.gateway_root)
        session = sessions.read(root.parent / names.MANIFEST_FILE)
        for folder in ("run", "logs"):
            files.private_folder(root / folder)
        try:
            stack.enter_context(locks.hold(root / LOCK, wait_seconds=LOCK_WAIT_SECONDS))
        except locks.LockHeld as held:
            raise AlreadyServed(f"process {held.holder} already serves {root}; detach it first") from held
        return session

    async def _serve(self, made: Serving) -> None:
        self._serving = made

        def started() -> None:
            self._port, self._failure = made.port, None
            self._has_tried.set()

        await made.run(started)


def _port_of(session: Session) -> int:
    return publication.desired_config(session).desired_port or 0


def _timings_of(session: Session) -> gf.TrackingTimings:
    return publication.desired_config(session).desired_tui_tracking_timings or gf.TrackingTimings()
