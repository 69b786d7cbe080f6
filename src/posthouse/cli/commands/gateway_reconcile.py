"""`agents gateway reconcile`: what becomes of work whose agent was replaced."""

from posthouse.cli.context import Call
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser


def reconcile_arguments(parser: Parser) -> None:
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument(
        "--replay", action="store_true", help="the new agent is given what waited for the old one"
    )
    choice.add_argument("--discard", action="store_true", help="what waited for the old agent is failed")
    parser.add_argument(
        "--epoch", type=int, metavar="N", help="refuse if the agent is not at this epoch (see gateway status)"
    )


def reconcile(call: Call) -> int:
    """Decide, and open the gateway for new requests."""
    decision = "replay" if call.arguments.replay else "discard"
    value = client_of(call).reconcile(decision, epoch=call.arguments.epoch)
    count = len(value["request_ids"])
    requests = "1 request" if count == 1 else f"{count} requests"
    done = "will be replayed" if decision == "replay" else "discarded"
    call.output.result(
        value, f"epoch {value['managed_agent_instance_epoch']} takes requests again; {requests} {done}"
    )
    return 0
