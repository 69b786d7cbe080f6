"""One gateway as it serves: its parts put together, opened, and closed again whatever happens.

The process of a single gateway and the host of many both run this; neither shares anything with another.
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
from posthouse.gateway.notifications.dispatcher import surroundings_of
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
class Output:
    """Where the running log goes besides its file."""

    handlers: Sequence[logging.Handler] = field(default=())
    #: Told the old and the new descriptor of the log when it is rotated.
    on_rotate: Callable[[int, int], None] = lambda old, new: None


class Serving:
    """A gateway that is put together. `run` opens it, serves, and closes all of it."""

    def __init__(
        self, gateway: Gateway, server: Server, listener: socket.socket, log: logging.Logger
    ) -> None:
        self._gateway = gateway
        self._server = server
        self._listener = listener
        self._log = log

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def stop(self) -> None:
        """Let `run` come to its end."""
        self._server.stop()

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`; *started* hears when requests are carried out from now on."""
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
    output: Output | None = None,
) -> Serving:
    """The gateway of *session* on *listener*, which it closes in the end.

    Raises:
        QueueUnavailable: Its queue can't be used.
        And as `driving.for_gateway`. The listener is then still the caller's, and nothing else is left open.
    """
    output = output or Output()
    root = session.gateway_root
    # Callers beyond this machine show a token; on loopback the kernel says who calls.
    shown = None if binding.host == "127.0.0.1" else token.provide(root / gf.TOKEN)
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
            tell_as=surroundings_of(session),
            background=background,
        )
        undo.pop_all()
    server = Server(app.build(gateway, shown), log, on_stop=gateway.operations.audience.end)
    return Serving(gateway, server, listener, log)


def move_output(old: int, new: int) -> None:
    """Let our output, which a starter led into a log, follow that log to its new file."""
    for number in (sys.stdout.fileno(), sys.stderr.fileno()):
        if os.path.sameopenfile(number, old):
            os.dup2(new, number)
