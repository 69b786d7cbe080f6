"""`agents gateway …`: the HTTP gateway beside an agent."""

import argparse

from posthouse.cli import asking, gateways, turnwork
from posthouse.cli.call import Call
from posthouse.cli.failure import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.output import fields
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import strict


def attach_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--background", action="store_true", help="a process of its own (what every gateway is here)"
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


def attach(call: Call) -> int:
    """Start the gateway, or say where it already is."""
    found = asking.running(call.agent(), call.prog)
    address = gateways.ensure(
        call.wiring,
        found,
        host=call.arguments.host,
        port=call.arguments.port,
        diagnostics=diagnostics_of(call.arguments),
    )
    call.output.result(
        {
            "status": "attached",
            "agent_id": found.agent_id,
            "gateway_host": address.host,
            "gateway_port": address.port,
            "gateway_root": str(found.gateway_root),
        },
        f"gateway of {found.agent_name} at {address.url}",
    )
    return 0


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
    found = turnwork.session_of(call.agent())
    was_live = gateways.detach(call.wiring, found)
    call.output.result(
        {"status": "detached", "agent_id": found.agent_id, "was_attached": was_live},
        f"gateway of {found.agent_name} stopped" if was_live else f"{found.agent_name} has no gateway",
    )
    return 0


def status(call: Call) -> int:
    """Show the status that the gateway gives, or the one of having none."""
    found = turnwork.session_of(call.agent())
    value = gateways.status(call.wiring, found)
    shown = (
        "gateway_health",
        "gateway_host",
        "gateway_port",
        "managed_agent_connectivity",
        "request_admission",
        "active_execution",
        "queue_depth",
    )
    call.output.result(value, fields([(key, str(value[key])) for key in shown if value.get(key) is not None]))
    return 0
