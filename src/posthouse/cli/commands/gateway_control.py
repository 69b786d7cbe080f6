"""`agents gateway prompt|interrupt|send-keys`: direct control of the agent through its gateway."""

from posthouse.cli import prompts
from posthouse.cli.context import Call
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser


def prompt_arguments(parser: Parser) -> None:
    prompts.prompt_arguments(parser)
    prompts.key_argument(parser)
    parser.add_argument("--force", action="store_true", help="send it even while the agent is busy")


def prompt(call: Call) -> int:
    """Give the agent a prompt now, bypassing the queue."""
    request = prompts.read_request(call)
    value = client_of(call).control_prompt(
        request.prompt,
        force=call.arguments.force,
        model=request.model,
        reasoning_level=request.reasoning_level,
        idempotency_key=call.arguments.idempotency_key,
    )
    call.output.result(value, value["detail"])
    return 0


def interrupt(call: Call) -> int:
    """Interrupt the agent; the gateway records the request."""
    value = client_of(call).interrupt()
    call.output.result(value, value["request_id"])
    return 0


def send_keys_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--sequence", required=True, metavar="S", help="text and keys, such as '/model<[Enter]><[Down]>'"
    )
    parser.add_argument(
        "--escape-special-keys", action="store_true", help="type all of it literally, <[Enter]> included"
    )


def send_keys(call: Call) -> int:
    """Type raw keys into the agent's terminal."""
    arguments = call.arguments
    value = client_of(call).send_keys(arguments.sequence, escape_special_keys=arguments.escape_special_keys)
    call.output.result(value, value["detail"])
    return 0
