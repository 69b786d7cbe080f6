"""`agents gateway …`: the HTTP gateway of an agent."""

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
        help="run it as a background process (default: in a separate window of the agent's tmux session)",
    )
    where.add_argument(
        "--hosted",
        action="store_true",
        help="run it in the shared host process; see `gateway host`",
    )
    parser.add_argument(
        "--host", choices=("127.0.0.1", "0.0.0.0"), help="the listen address (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="the port (default: the previous one, else a free one)"
    )
    parser.add_argument(
        "--diagnostics",
        action=argparse.BooleanOptionalAction,
        help="keep a structured diagnostic log (default: as before)",
    )
    parser.add_argument(
        "--diagnostics-max-bytes", type=int, metavar="N", help="the maximum size of one log file"
    )
    parser.add_argument(
        "--diagnostics-backups", type=int, metavar="N", help="the number of older log files to keep"
    )
    for timing in gf.TrackingTimings.__struct_fields__:
        parser.add_argument(
            f"--gateway-tui-{timing.replace('_', '-')}",
            type=seconds,
            metavar="F",
            dest=timing,
            help="a timing of TUI tracking, in seconds (default: as before)",
        )


def attach(call: Call) -> int:
    """Start the gateway, or show its address if it runs."""
    session = prompts.running_session(call.agent(), call.prog)
    address = gateways.ensure(
        call.wiring,
        session,
        mode=mode_of(call.arguments),
        hosted=call.arguments.hosted,
        host=call.arguments.host,
        port=call.arguments.port,
        diagnostics=diagnostics_of(call.arguments),
        timings=timings_of(call.arguments, session),
    )
    token = None if address.host == "127.0.0.1" else str(session.gateway_root / gf.TOKEN)
    text = f"gateway of {session.agent_name} at {address.url}"
    call.output.result(
        {
            "status": "ok",
            "action": "gateway_attach",
            "detail": text,
            "agent_id": session.agent_id,
            "gateway_host": address.host,
            "gateway_port": address.port,
            "gateway_root": str(session.gateway_root),
            "token_file": token,
        },
        text if token is None else f"{text}; remote callers need the token in {token}",
    )
    return 0


def mode_of(arguments: argparse.Namespace) -> gf.ExecutionMode:
    """The contract's execution mode; a hosted gateway counts as detached."""
    return "detached_process" if arguments.background or arguments.hosted else "tmux_auxiliary_window"


def timings_of(arguments: argparse.Namespace, session: Session) -> gf.TrackingTimings | None:
    """The given timings merged into those of the previous attach; None: none are given."""
    asked = {name: getattr(arguments, name) for name in gf.TrackingTimings.__struct_fields__}
    given = {name: value for name, value in asked.items() if value is not None}
    if not given:
        return None
    last = publication.desired_config(session).desired_tui_tracking_timings or gf.TrackingTimings()
    return structs.replace(last, **given)


def diagnostics_of(arguments: argparse.Namespace) -> gf.DiagnosticLogging | None:
    """The diagnostic log settings; None: none are given.

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
        raise UsageError(f"invalid diagnostic log settings: {error}") from error


def detach(call: Call) -> int:
    """Stop the gateway; the agent and the queue stay."""
    session = turns.session_of(call.agent())
    was_live = gateways.detach(call.wiring, session)
    text = f"gateway of {session.agent_name} stopped" if was_live else f"{session.agent_name} has no gateway"
    call.output.result(
        {
            "status": "ok",
            "action": "gateway_detach",
            "detail": text,
            "agent_id": session.agent_id,
            "gateway_host": None,
            "gateway_port": None,
            "gateway_root": str(session.gateway_root),
            "was_attached": was_live,
        },
        text,
    )
    return 0


def status(call: Call) -> int:
    """Show the gateway's status, or the offline status."""
    session = turns.session_of(call.agent())
    value = gateways.status(call.wiring, session)
    text = gateway_text.status_fields(value)
    if (host := gateways.host_of(session)) is not None:
        text.append(("runs in", f"the gateway host, process {host}"))
    call.output.result(value, fields(text))
    return 0
