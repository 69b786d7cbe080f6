"""One gateway in a host: served, and restarted after a failure, until it is stopped."""

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
from posthouse.gateway.assembly import GatewayServer
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
    """Another process serves that gateway; nothing was changed."""

    code = "already_served"


class HostedGateway:
    """A gateway of the host. Its failures do not affect the host or the other gateways."""

    def __init__(self, entry: gh.HostRegistryEntry, log: logging.Logger) -> None:
        self._entry = entry
        self._log = log
        self._server: GatewayServer | None = None
        self._port: int | None = None
        #: Why the last attempt ended; None while one is under way.
        self._failure: Exception | None = None
        self._has_attempted = asyncio.Event()
        self._is_stopping = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    @property
    def status(self) -> gh.HostedGatewayStatus:
        """Its current state, port and last failure."""
        if self._port is not None:
            return gh.HostedGatewayStatus(
                gateway_root=self._entry.gateway_root, state="serving", port=self._port
            )
        if self._failure is None:
            return gh.HostedGatewayStatus(gateway_root=self._entry.gateway_root, state="starting")
        problem = str(self._failure) or type(self._failure).__name__
        return gh.HostedGatewayStatus(gateway_root=self._entry.gateway_root, state="failed", problem=problem)

    async def wait_attempted(self) -> Exception | None:
        """Return after the first attempt: its error, or None when the gateway serves."""
        await self._has_attempted.wait()
        return self._failure

    async def stop(self) -> None:
        """Stop serving. Returns when the lock of the gateway root is free."""
        self._is_stopping.set()
        await self._has_attempted.wait()
        if self._server is not None:
            self._server.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.shield(self._task)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        delay = _FIRST_RETRY_SECONDS
        while not self._is_stopping.is_set():
            try:
                server, stack = await self._open()
                with stack:
                    await self._serve(server)
            except Exception as error:  # noqa: BLE001 - one broken gateway must not end the others
                self._failure = error
                self._log.warning(
                    "hosted gateway failed", extra={"root": self._entry.gateway_root, "error": str(error)}
                )
                if not isinstance(error, PosthouseError):
                    self._log.error("hosted gateway failed unexpectedly", exc_info=error)
            finally:
                self._server = self._port = None
                self._has_attempted.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._is_stopping.wait()
            delay = min(delay * 2, _LAST_RETRY_SECONDS)

    async def _open(self) -> tuple[GatewayServer, ExitStack]:
        """The prepared gateway, and a stack that releases the lock of its root."""
        with ExitStack() as stack:
            session = await asyncio.to_thread(self._lock_root, stack)
            listener = bind(self._entry.host, self._entry.port or _port_of(session))
            stack.callback(listener.close)
            binding = Binding(host=self._entry.host, port=listener.getsockname()[1])
            server = await assembly.prepare(session, listener, binding, _timings_of(session))
            return server, stack.pop_all()

    def _lock_root(self, stack: ExitStack) -> Session:
        root = Path(self._entry.gateway_root)
        session = sessions.read(root.parent / names.MANIFEST_FILE)
        for folder in ("run", "logs"):
            files.private_folder(root / folder)
        try:
            stack.enter_context(locks.hold(root / LOCK, wait_seconds=LOCK_WAIT_SECONDS))
        except locks.LockHeld as held:
            raise AlreadyServed(f"process {held.holder} already serves {root}; detach it first") from held
        return session

    async def _serve(self, server: GatewayServer) -> None:
        self._server = server

        def started() -> None:
            self._port, self._failure = server.port, None
            self._has_attempted.set()

        await server.run(started)


def _port_of(session: Session) -> int:
    return publication.desired_config(session).desired_port or 0


def _timings_of(session: Session) -> gf.TrackingTimings:
    return publication.desired_config(session).desired_tui_tracking_timings or gf.TrackingTimings()
