"""`agents turn … --port N`: headless turns through the coordination server."""

from collections.abc import Iterator
from typing import Literal

from posthouse.cli import prompts
from posthouse.cli.commands.via_server import built
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.outcomes import Outcome
from posthouse.cli.output import fields
from posthouse.cli.polling import Deadline
from posthouse.clients.server import CoordinationClient, responses

_OUTCOMES: dict[str, Outcome] = {
    "active": "timed_out",
    "completed": "success",
    "failed": "failed",
    "interrupted": "interrupted",
    "unknown": "unknown",
}


def submit(call: Call) -> int:
    """Start a turn and print its id."""
    question = prompts.question_of(call)
    accepted = call.server().submit_turn(
        call.selection.value, question.prompt, model=question.model, reasoning_level=question.reasoning_level
    )
    call.output.result(built(accepted), accepted.turn_id)
    return 0


def status(call: Call) -> int:
    """Show how one turn stands."""
    report = call.server().turn(call.selection.value, _turn_id(call))
    pairs = [("turn", f"{report.turn_id} (number {report.turn_index})"), ("status", report.status)]
    given = {"started": report.started_at_utc, "ended": report.completed_at_utc}
    given |= {"answer": report.history_summary, "error": report.error}
    call.output.result(built(report), fields([*pairs, *((key, text) for key, text in given.items() if text)]))
    return 0


def events(call: Call) -> int:
    """Show what happened in one turn."""
    if call.arguments.follow:
        raise UsageError("--follow is for agents of this machine: leave out --port")
    told = call.server().turn_events(call.selection.value, _turn_id(call))
    call.output.result(built(told), "\n".join(f"{one.kind}: {one.message}" for one in told.entries))
    return 0


def stdout(call: Call) -> int:
    """Copy the provider's own output, byte for byte."""
    return _copied(call, "stdout")


def stderr(call: Call) -> int:
    """Copy the provider's error output, byte for byte."""
    return _copied(call, "stderr")


def ended(server: CoordinationClient, ref: str, turn_id: str, call: Call) -> responses.TurnReport:
    """How a turn ended, or how it stands when the command's patience is over."""
    for _ in Deadline(call.arguments.timeout).looks():
        report = server.turn(ref, turn_id)
        if report.status != "active":
            break
    return report


def outcome_of(report: responses.TurnReport) -> Outcome:
    return _OUTCOMES[report.status]


def _copied(call: Call, artifact: Literal["stdout", "stderr"]) -> int:
    call.output.copy(_pieces(call, artifact))
    return 0


def _pieces(call: Call, artifact: Literal["stdout", "stderr"]) -> Iterator[bytes]:
    server, turn_id, offset = call.server(), _turn_id(call), 0
    while piece := server.turn_artifact(call.selection.value, turn_id, artifact, offset=offset):
        yield piece
        offset += len(piece)


def _turn_id(call: Call) -> str:
    turn_id: str = call.arguments.turn_id
    if turn_id == "last":
        raise UsageError("through a server a turn is asked for by its id, not as `last`")
    return turn_id
