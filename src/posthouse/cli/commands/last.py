"""`agents last`: the last prompt and what came of it."""

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


class NothingYet(NotFound):
    """The agent has not been asked anything."""

    code = "nothing_yet"


def last(call: Call) -> int:
    """Show the newest exchange, from the turn's folder or the agent's own transcript."""
    agent = call.agent()
    found = turns_module.session_of(agent)
    value = _of_turns(found) if found.manifest.is_headless else _of_transcript(found)
    if value is None:
        raise NothingYet(f"agent {agent.name!r} has not been asked anything yet")
    shown = ("prompt", "outcome", "answer", "error")
    call.output.result(value, fields([(key, str(value[key])) for key in shown if value[key]]))
    return 0


def _of_transcript(found: Session) -> dict[str, str | None] | None:
    launch = start.launch_of(found)
    exchanges = tools.load(found.manifest.tool).exchanges(launch.home, launch.working_directory)
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


def _of_turns(found: Session) -> dict[str, str | None] | None:
    turns = runner.turns_of(found.turns_root)
    if not turns:
        return None
    state = turns[-1].state()
    return {
        "prompt": _prompt(found, state.turn_id),
        "answer": state.answer,
        "outcome": state.status,
        "error": state.error,
        "submitted_at_utc": state.started_at_utc,
        "turn_id": state.turn_id,
        "source": "turn",
    }


def _prompt(found: Session, turn_id: str) -> str | None:
    """What was fed to the program; None where it took its prompt another way."""
    try:
        return untrusted_files.read_text(Folder(found.turns_root / turn_id).prompt)
    except FileNotFoundError:
        return None
