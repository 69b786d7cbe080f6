"""`agents gateway …`: the HTTP gateway beside an agent."""

import argparse

from msgspec import structs

from posthouse.cli import gateway_text, gateways, prompts, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, seconds
from posthouse.cli.output import fields
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import strict
from posthouse.sessions import publication
from posthouse.sessions.session import Session


def attach_arguments(parser: Parser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--background",
        action="store_true",
        help="a process of its own (default: a window of the agent's tmux session, never the agent's)",
    )
    where.add_argument(
        "--hosted",
        action="store_true",
        help="one process together with others; see `gateway host`",
    )
    parser.add_argument(
        "--host", choices=("127.0.0.1", "0.0.0.0"), help="where it listens (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="its port (default: the last one, else a free one)"
    )
    parser.add_argument(
        "--diagnostics",
        action=argparse.BooleanOptionalAction,
        help="keep a structured diagnostic log (default: as the last time)",
    )
    parser.add_argument("--diagnostics-max-bytes", type=int, metavar="N", help="size of one part of it")
    parser.add_argument("--diagnostics-backups", type=int, metavar="N", help="older parts to keep")
    for timing in gf.TrackingTimings.__struct_fields__:
        parser.add_argument(
            f"--gateway-tui-{timing.replace('_', '-')}",
            type=seconds,
            metavar="F",
            dest=timing,
            help="a timing of TUI tracking, in seconds (default: as the last time)",
        )


def attach(call: Call) -> int:
    """Start the gateway, or say where it already is."""
    found = prompts.running(call.agent(), call.prog)
    address = gateways.ensure(
        call.wiring,
        found,
        mode=mode_of(call.arguments),
        hosted=call.arguments.hosted,
        host=call.arguments.host,
        port=call.arguments.port,
        diagnostics=diagnostics_of(call.arguments),
        timings=timings_of(call.arguments, found),
    )
    token = None if address.host == "127.0.0.1" else str(found.gateway_root / gf.TOKEN)
    told = f"gateway of {found.agent_name} at {address.url}"
    call.output.result(
        {
            "status": "ok",
            "action": "gateway_attach",
            "detail": told,
            "agent_id": found.agent_id,
            "gateway_host": address.host,
            "gateway_port": address.port,
            "gateway_root": str(found.gateway_root),
            "token_file": token,
        },
        told if token is None else f"{told}; callers from elsewhere show the token in {token}",
    )
    return 0


def mode_of(arguments: argparse.Namespace) -> gf.ExecutionMode:
    """How the gateway runs, as the contract names it: a hosted one is detached."""
    return "detached_process" if arguments.background or arguments.hosted else "tmux_auxiliary_window"


def timings_of(arguments: argparse.Namespace, found: Session) -> gf.TrackingTimings | None:
    """The timings that were asked for, over those of the last attach; None: nothing was said of them."""
    asked = {name: getattr(arguments, name) for name in gf.TrackingTimings.__struct_fields__}
    given = {name: value for name, value in asked.items() if value is not None}
    if not given:
        return None
    last = publication.desired_config(found).desired_tui_tracking_timings or gf.TrackingTimings()
    return structs.replace(last, **given)


def diagnostics_of(arguments: argparse.Namespace) -> gf.DiagnosticLogging | None:
    """The diagnostic log that was asked for; None: nothing was said of it.

    Raises:
        UsageError: A limit is out of range, or is given without the log.
    """
    limits = {
        name: value
        for name, value in (
            ("max_bytes", arguments.diagnostics_max_bytes),
            ("backup_count", arguments.diagnostics_backups),
        )
        if value is not None
    }
    if limits and not arguments.diagnostics:
        raise UsageError("--diagnostics-max-bytes and --diagnostics-backups go with --diagnostics")
    if arguments.diagnostics is None:
        return None
    try:
        return strict.convert({"enabled": arguments.diagnostics, **limits}, gf.DiagnosticLogging)
    except ValueError as error:
        raise UsageError(f"the diagnostic log can't be so: {error}") from error


def detach(call: Call) -> int:
    """Stop the gateway; the agent and what waits in the queue stay."""
    found = turns.session_of(call.agent())
    was_live = gateways.detach(call.wiring, found)
    told = f"gateway of {found.agent_name} stopped" if was_live else f"{found.agent_name} has no gateway"
    call.output.result(
        {
            "status": "ok",
            "action": "gateway_detach",
            "detail": told,
            "agent_id": found.agent_id,
            "gateway_host": None,
            "gateway_port": None,
            "gateway_root": str(found.gateway_root),
            "was_attached": was_live,
        },
        told,
    )
    return 0


def status(call: Call) -> int:
    """Show the status that the gateway gives, or the one of having none."""
    found = turns.session_of(call.agent())
    value = gateways.status(call.wiring, found)
    told = gateway_text.status_told(value)
    if (host := gateways.host_of(found)) is not None:
        told.append(("runs in", f"the gateway host, process {host}"))
    call.output.result(value, fields(told))
    return 0
