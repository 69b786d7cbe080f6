"""Builds one gateway from its parts, runs it, and closes all of it, also after a failure.

Used by the process of a single gateway and by the host of many. Gateways share no state.
"""

import logging
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from posthouse import agent
from posthouse.contracts import gateway_files as gf
from posthouse.events.journal import Journal
from posthouse.gateway import files
from posthouse.gateway.diagnostics import open_diagnostics
from posthouse.gateway.http import app
from posthouse.gateway.http.diagnostics import LogWarnings
from posthouse.gateway.notifications.dispatcher import context_of
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.mailbox.transports import open_transport
from posthouse.queue import open_queue
from posthouse.sessions import publication
from posthouse.sessions.session import Session
from posthouse.support import process_log
from posthouse.support.supervision import Supervisor
from posthouse.web import token
from posthouse.web.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOutput:
    """Additional destinations of the running log."""

    handlers: Sequence[logging.Handler] = field(default=())
    #: Called with the old and the new descriptor of the log after a rotation.
    on_rotate: Callable[[int, int], None] = lambda old, new: None


class GatewayServer:
    """A gateway with its HTTP server. `run` starts both, serves, and closes both."""

    def __init__(
        self, gateway: Gateway, server: Server, listener: socket.socket, log: logging.Logger
    ) -> None:
        self._gateway = gateway
        self._server = server
        self._listener = listener
        self._log = log

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def stop(self) -> None:
        """Make `run` return."""
        self._server.stop()

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`; *started* is called once requests are processed."""
        try:
            await self._gateway.start()
            host = self._listener.getsockname()[0]
            self._log.info("gateway started", extra={"host": host, "port": self.port, "pid": os.getpid()})
            started()
            await self._server.listen(self._listener)
        finally:
            self._listener.close()
            await self._gateway.stop()
            self._log.info("gateway stopped", extra={"pid": os.getpid()})
            process_log.close_log(self._log)


async def prepare(
    session: Session,
    listener: socket.socket,
    binding: Binding,
    timings: gf.TrackingTimings,
    output: LogOutput | None = None,
) -> GatewayServer:
    """The gateway of *session* on *listener*, which it closes at the end.

    Raises:
        QueueUnavailable: Its queue can't be used.
        And as `agent.for_gateway`. The caller then still owns the listener; everything else is closed.
    """
    output = output or LogOutput()
    root = session.gateway_root
    # Remote callers need a token; on loopback the kernel identifies the caller.
    access_token = None if binding.host == "127.0.0.1" else token.load_or_create(root / gf.TOKEN)
    async with AsyncExitStack() as undo:
        queue = await open_queue(root / gf.QUEUE)
        undo.push_async_callback(queue.close)
        diagnostics = open_diagnostics(root, publication.desired_config(session).desired_diagnostic_logging)
        undo.callback(diagnostics.close)
        log = process_log.open_log(
            root / gf.LOG, *output.handlers, LogWarnings(diagnostics), on_rotate=output.on_rotate
        )
        undo.callback(process_log.close_log, log)
        attach = files.live_attach(session, binding)
        background = Supervisor(log)
        gateway = Gateway(
            attach=attach,
            binding=binding,
            queue=queue,
            adapter=agent.for_gateway(session, attach.backend_metadata, background),
            journal=Journal(root / gf.EVENTS),
            publisher=files.Publisher(session, attach, binding, log),
            log=log,
            open_mailbox=open_transport,
            diagnostics=diagnostics,
            timings=timings,
            notification_context=context_of(session),
            background=background,
        )
        undo.pop_all()
    server = Server(app.build(gateway, access_token), log, on_stop=gateway.operations.readers.stop)
    return GatewayServer(gateway, server, listener, log)


def redirect_output(old: int, new: int) -> None:
    """Point stdout and stderr at the rotated log, if the starter redirected them into the old one."""
    for number in (sys.stdout.fileno(), sys.stderr.fileno()):
        if os.path.sameopenfile(number, old):
            os.dup2(new, number)
