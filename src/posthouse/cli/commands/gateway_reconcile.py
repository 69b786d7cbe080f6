"""`agents gateway reconcile`: replay or discard the requests of a replaced agent instance."""

from posthouse.cli.context import Call
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser


def reconcile_arguments(parser: Parser) -> None:
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--replay", action="store_true", help="give the waiting requests to the new instance")
    choice.add_argument("--discard", action="store_true", help="fail the waiting requests")
    parser.add_argument(
        "--epoch", type=int, metavar="N", help="only if the agent is at this epoch (see gateway status)"
    )


def reconcile(call: Call) -> int:
    """Replay or discard, and admit new requests."""
    decision = "replay" if call.arguments.replay else "discard"
    value = client_of(call).reconcile(decision, epoch=call.arguments.epoch)
    count = len(value["request_ids"])
    requests = "1 request" if count == 1 else f"{count} requests"
    done = "will be replayed" if decision == "replay" else "discarded"
    call.output.result(
        value, f"epoch {value['managed_agent_instance_epoch']} accepts requests again; {requests} {done}"
    )
    return 0
