"""`internals …`: single steps of other commands, for tests and debugging."""

import json
from typing import Any

from posthouse.cli import mail_prompt, mailboxes, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser


def ask_tui_arguments(parser: Parser) -> None:
    parser.add_argument("--operation", required=True, metavar="VERB", help="the operation: send, check …")
    parser.add_argument(
        "--arguments", default="{}", metavar="JSON", help="the operation's arguments, a JSON object"
    )
    parser.add_argument(
        "--watch-seconds",
        type=float,
        default=mail_prompt.WATCH_SECONDS,
        metavar="S",
        help="how long to wait for the agent's report (default: 10)",
    )


def ask_tui(call: Call) -> int:
    """Ask a running TUI to do a mail operation itself; the result is unverified."""
    session = turns.session_of(call.agent())
    binding = mailboxes.binding_of(session, call.prog)
    request = _object(call.arguments.arguments)
    arguments = call.arguments
    value = mail_prompt.submit(
        call.wiring,
        session,
        binding,
        arguments.operation,
        request,
        watch_seconds=arguments.watch_seconds,
    )
    call.output.result(value, f"{value['status']}: {value['request_id']}")
    return 0


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--arguments is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError("--arguments must be a JSON object")
    return value
