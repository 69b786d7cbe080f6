"""The gateway process: one gateway, until SIGTERM or Ctrl-C.

A process entry, so this module reads the environment.
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from msgspec import structs

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.errors import Conflict, InvalidInput, PosthouseError
from posthouse.gateway_lifecycle.gateway_lock import LOCK, LOCK_WAIT_SECONDS
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support import bounded_exit, crashpoints, locks, system_errors
from posthouse.support.files import private_folder

if TYPE_CHECKING:
    from posthouse.gateway.assembly import GatewayServer
    from posthouse.gateway.status import Binding

#: Limits of the whole shutdown, and of joining threads after it.
_STOP_SECONDS = 30.0
_JOIN_SECONDS = 2.0


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until a stop signal. Exit code 1, with the reason on stderr, when it can't serve."""
    # Startup creates no garbage; collecting took a tenth of the startup time.
    gc.disable()
    options = _parse(arguments)
    crashpoints.arm(environment.get(names.CRASH_AT))
    root: Path = options.gateway_root.resolve()
    try:
        for folder in ("run", "logs"):
            private_folder(root / folder)
        session = sessions.read(root.parent / names.MANIFEST_FILE)
        with locks.hold(root / LOCK, wait_seconds=LOCK_WAIT_SECONDS):
            from posthouse.web.server import bind  # imports most of a gateway; refusals need none of it

            listener = bind(options.host, options.port)
            _run(session, listener, environment, _timings(session, options))
    except locks.LockHeld as held:
        return _refuse(
            Conflict(f"process {held.holder} already serves {root}; detach it first", code="already_served")
        )
    except PosthouseError as error:
        return _refuse(error)
    except OSError as error:
        if (refused := system_errors.translate(error)) is None:
            raise
        return _refuse(refused)
    return 0


def _refuse(error: PosthouseError) -> int:
    sys.stderr.write(f"gateway: {error}\n")
    return 1


def _timings(session: Session, options: argparse.Namespace) -> gf.TrackingTimings:
    """The six timings of TUI tracking: those of the command line, else those requested at the attach."""
    desired = publication.desired_config(session).desired_tui_tracking_timings or gf.TrackingTimings()
    overrides = {name: getattr(options, f"tui_{name}") for name in gf.TrackingTimings.__struct_fields__}
    return structs.replace(desired, **{name: value for name, value in overrides.items() if value is not None})


def _run(
    session: Session, listener: socket.socket, environment: Mapping[str, str], timings: gf.TrackingTimings
) -> None:
    import uvloop  # after the checks that can refuse to start

    binding = _binding(session, listener, environment)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_serve(session, listener, binding, timings))


async def _serve(
    session: Session, listener: socket.socket, binding: "Binding", timings: gf.TrackingTimings
) -> None:
    from posthouse.gateway import assembly

    terminal_handlers = [logging.StreamHandler(sys.stdout)] if sys.stdout.isatty() else []
    output = assembly.LogOutput(handlers=terminal_handlers, on_rotate=assembly.redirect_output)
    server = await assembly.prepare(session, listener, binding, timings, output)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _stop, server)
    await server.run(_freeze_garbage)
    bounded_exit.end_within(_JOIN_SECONDS, code=0)  # all state is written; only threads are left to join


def _stop(server: "GatewayServer") -> None:
    bounded_exit.end_within(_STOP_SECONDS)
    server.stop()


def _freeze_garbage() -> None:
    """Exclude all startup objects from garbage collection, then enable it."""
    gc.freeze()
    gc.enable()


def _binding(session: Session, listener: socket.socket, environment: Mapping[str, str]) -> "Binding":
    from posthouse.gateway.status import Binding

    host, port = listener.getsockname()
    mode = environment.get(names.GATEWAY_EXECUTION_MODE, "").strip() or "detached_process"
    if mode not in get_args(gf.ExecutionMode):
        raise _bad_environment(f"unknown execution mode in {names.GATEWAY_EXECUTION_MODE}: {mode!r}")
    if mode == "detached_process":
        return Binding(host=host, port=port)
    window_id, index, pane_id = _window(session, environment)
    if index == "0":
        raise _bad_environment("window 0 belongs to the agent; a gateway can't run there")
    return Binding(
        host=host,
        port=port,
        mode="tmux_auxiliary_window",
        tmux_window_id=window_id,
        tmux_window_index=index,
        tmux_pane_id=pane_id,
    )


def _window(session: Session, environment: Mapping[str, str]) -> tuple[str, str, str]:
    """Window id, index and pane of this process, from the environment or else from tmux."""
    variables = (names.GATEWAY_TMUX_WINDOW_ID, names.GATEWAY_TMUX_WINDOW_INDEX, names.GATEWAY_TMUX_PANE_ID)
    window_id, index, pane_id = (environment.get(name, "") for name in variables)
    if window_id and index and pane_id:
        return window_id, index, pane_id
    pane_id = environment.get("TMUX_PANE", "")
    if not pane_id:
        raise _bad_environment("a gateway in a tmux window must be started inside tmux")
    output = session.tmux.run("display-message", "-p", "-t", pane_id, "#{window_id} #{window_index}")
    window_id, _, index = output.partition(" ")
    return window_id, index, pane_id


def _bad_environment(message: str) -> InvalidInput:
    """The variables that describe where this process runs contradict each other."""
    return InvalidInput(message, code="bad_surroundings")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m posthouse.gateway", description="Serve one agent's gateway."
    )
    parser.add_argument("--gateway-root", type=Path, required=True, help="the session's gateway folder")
    parser.add_argument("--host", choices=get_args(gf.Host), default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=0, help="0: any free port")
    for timing in gf.TrackingTimings.__struct_fields__:
        parser.add_argument(f"--tui-{timing.replace('_', '-')}", type=_positive_seconds)
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port (0 to 65535)")
    return port


def _positive_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
