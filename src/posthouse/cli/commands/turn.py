"""`agents turn …`: single headless turns and their files."""

from pathlib import Path

from posthouse.cli import humanize, prompts, turns
from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Output, encode, fields
from posthouse.cli.polling import Deadline
from posthouse.errors import NotFound
from posthouse.support import clock, untrusted_files
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn

_CHUNK_BYTES = 64 << 10


def _turn_argument(parser: Parser) -> None:
    parser.add_argument("turn_id", metavar="TURN_ID", help="the turn's id, or `last`")


def submit_arguments(parser: Parser) -> None:
    prompts.prompt_arguments(parser)


def submit(call: Call) -> int:
    """Start a turn and print its id; `turn status` and `turn events` follow it."""
    request = prompts.read_request(call)
    agent = call.agent()
    turns.headless_session(agent)
    session = prompts.running_session(agent, call.prog)
    submitted = prompts.submit(call.wiring, session, request, Deadline(None))
    if submitted.thread is not None:
        # The thread ends with this process.
        submitted.thread.join()
        if submitted.thread.error is not None and not turns.exists(session, submitted.turn_id):
            raise submitted.thread.error
    call.output.result(
        {
            "success": True,
            "tracked_agent_id": agent.agent_id,
            "turn_id": submitted.turn_id,
            "request_id": submitted.request_id,
            "status": "active",
            "detail": submitted.detail,
        },
        submitted.turn_id or "",
    )
    return 0


status_arguments = _turn_argument


def status(call: Call) -> int:
    """Show the status of one turn."""
    agent = call.agent()
    turn = turns.find(turns.headless_session(agent), call.arguments.turn_id)
    state = turn.state()
    call.output.result(turns.status(agent, turn, state), _state_text(state))
    return 0


def events_arguments(parser: Parser) -> None:
    _turn_argument(parser)
    parser.add_argument(
        "--detail", choices=("concise", "detail"), default="concise", help="the level of detail"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="follow until the turn ends")


def events(call: Call) -> int:
    """Show the events of one turn."""
    agent = call.agent()
    turn = turns.find(turns.headless_session(agent), call.arguments.turn_id)
    if call.arguments.follow:
        turns.follow(turn, turns.event_writer(call.output, call.arguments.detail), None)
    elif call.output.is_json:
        entries = [event.public(call.arguments.detail) for event in turn.events()]
        call.output.line(
            encode({"tracked_agent_id": agent.agent_id, "turn_id": turn.turn_id, "entries": entries})
        )
    else:
        write = turns.event_writer(call.output, call.arguments.detail)
        for event in turn.events():
            write(event)
    return 0


stdout_arguments = _turn_argument


def stdout(call: Call) -> int:
    """Copy the provider's output, byte for byte."""
    return _copy(call.output, _turn(call), _turn(call).stdout_path)


stderr_arguments = _turn_argument


def stderr(call: Call) -> int:
    """Copy the provider's error output, byte for byte."""
    return _copy(call.output, _turn(call), _turn(call).stderr_path)


def _turn(call: Call) -> Turn:
    return turns.find(turns.headless_session(call.agent()), call.arguments.turn_id)


def _copy(output: Output, turn: Turn, path: Path) -> int:
    try:
        with untrusted_files.open_file(path) as source:
            output.copy(iter(lambda: source.read(_CHUNK_BYTES), b""))
    except FileNotFoundError:
        raise NotFound(f"turn {turn.turn_id} has no {path.name}", code="artifact_not_found") from None
    return 0


def _state_text(state: TurnState) -> str:
    pairs = [("turn", f"{state.turn_id} (number {state.turn_index})"), ("status", state.status)]
    if state.started_at_utc:
        pairs.append(("started", humanize.ago(clock.parse(state.started_at_utc), clock.now())))
    if state.completed_at_utc:
        pairs.append(("ended", humanize.ago(clock.parse(state.completed_at_utc), clock.now())))
    if state.answer:
        pairs.append(("answer", state.answer))
    if state.error:
        pairs.append(("error", state.error))
    return fields(pairs)
