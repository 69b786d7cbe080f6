"""`agents last`: the last prompt and its outcome."""

from posthouse import tools
from posthouse.cli import turns as turns_module
from posthouse.cli.context import Call
from posthouse.cli.output import fields
from posthouse.errors import NotFound
from posthouse.sessions import start
from posthouse.sessions.session import Session
from posthouse.support import untrusted_files
from posthouse.turns import runner
from posthouse.turns.folder import Folder


def last(call: Call) -> int:
    """Show the newest exchange, from the turn's folder or the agent's transcript."""
    agent = call.agent()
    session = turns_module.session_of(agent)
    value = _of_turns(session) if session.manifest.is_headless else _of_transcript(session)
    if value is None:
        raise NotFound(f"agent {agent.name!r} has received no prompt yet", code="nothing_yet")
    shown = ("prompt", "outcome", "answer", "error")
    call.output.result(value, fields([(key, str(value[key])) for key in shown if value[key]]))
    return 0


def _of_transcript(session: Session) -> dict[str, str | None] | None:
    launch = start.launch_of(session)
    exchanges = tools.load(session.manifest.tool).exchanges(launch.home, launch.working_directory)
    if not exchanges:
        return None
    newest = exchanges[-1]
    return {
        "prompt": newest.prompt,
        "answer": newest.answer,
        "outcome": newest.outcome or "active",
        "error": None,
        "submitted_at_utc": newest.submitted_at_utc,
        "turn_id": None,
        "source": "transcript",
    }


def _of_turns(session: Session) -> dict[str, str | None] | None:
    turns = runner.turns_of(session.turns_root)
    if not turns:
        return None
    state = turns[-1].state()
    return {
        "prompt": _prompt(session, state.turn_id),
        "answer": state.answer,
        "outcome": state.status,
        "error": state.error,
        "submitted_at_utc": state.started_at_utc,
        "turn_id": state.turn_id,
        "source": "turn",
    }


def _prompt(session: Session, turn_id: str) -> str | None:
    """The prompt that was piped to the program; None if it was passed differently."""
    try:
        return untrusted_files.read_text(Folder(session.turns_root / turn_id).prompt)
    except FileNotFoundError:
        return None
