"""`agents turn … --port N`: headless turns through the coordination server."""

from collections.abc import Iterator
from typing import Literal

from posthouse.cli import prompts
from posthouse.cli.commands.via_server import to_json
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.outcomes import Outcome
from posthouse.cli.output import fields
from posthouse.cli.polling import Deadline
from posthouse.clients.server import ServerClient, responses

_OUTCOMES: dict[str, Outcome] = {
    "active": "timed_out",
    "completed": "success",
    "failed": "failed",
    "interrupted": "interrupted",
    "unknown": "unknown",
}


def submit(call: Call) -> int:
    """Start a turn and print its id."""
    request = prompts.read_request(call)
    accepted = call.server().submit_turn(
        call.selection.value, request.prompt, model=request.model, reasoning_level=request.reasoning_level
    )
    call.output.result(to_json(accepted), accepted.turn_id)
    return 0


def status(call: Call) -> int:
    """Show the status of one turn."""
    report = call.server().turn(call.selection.value, _turn_id(call))
    pairs = [("turn", f"{report.turn_id} (number {report.turn_index})"), ("status", report.status)]
    given = {"started": report.started_at_utc, "ended": report.completed_at_utc}
    given |= {"answer": report.history_summary, "error": report.error}
    call.output.result(
        to_json(report), fields([*pairs, *((key, text) for key, text in given.items() if text)])
    )
    return 0


def events(call: Call) -> int:
    """Show the events of one turn."""
    if call.arguments.follow:
        raise UsageError("--follow can't be combined with --port")
    answer = call.server().turn_events(call.selection.value, _turn_id(call))
    call.output.result(to_json(answer), "\n".join(f"{one.kind}: {one.message}" for one in answer.entries))
    return 0


def stdout(call: Call) -> int:
    """Copy the provider's output, byte for byte."""
    return _copied(call, "stdout")


def stderr(call: Call) -> int:
    """Copy the provider's error output, byte for byte."""
    return _copied(call, "stderr")


def wait(server: ServerClient, ref: str, turn_id: str, call: Call) -> responses.TurnReport:
    """Poll a turn until it ends or the command's timeout passes; returns its last report."""
    for _ in Deadline(call.arguments.timeout).polls():
        report = server.turn(ref, turn_id)
        if report.status != "active":
            break
    return report


def outcome_of(report: responses.TurnReport) -> Outcome:
    return _OUTCOMES[report.status]


def _copied(call: Call, artifact: Literal["stdout", "stderr"]) -> int:
    call.output.copy(_chunks(call, artifact))
    return 0


def _chunks(call: Call, artifact: Literal["stdout", "stderr"]) -> Iterator[bytes]:
    server, turn_id, offset = call.server(), _turn_id(call), 0
    while chunk := server.turn_artifact(call.selection.value, turn_id, artifact, offset=offset):
        yield chunk
        offset += len(chunk)


def _turn_id(call: Call) -> str:
    turn_id: str = call.arguments.turn_id
    if turn_id == "last":
        raise UsageError("`last` can't be combined with --port: give the turn's id")
    return turn_id
