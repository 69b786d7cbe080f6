"""What starting and ending a turn does to a session. Called in threads: they wait for tmux and the disk."""

from contextlib import suppress
from pathlib import Path

from posthouse.agent.adapter import Prompt
from posthouse.agent.headless_order import count_turn, order_of
from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import names
from posthouse.contracts.manifest import Manifest
from posthouse.errors import Unavailable
from posthouse.server.turns import artifacts
from posthouse.sessions import conversation, secrets
from posthouse.sessions import session as sessions
from posthouse.sessions.session import BadManifest, Session, SessionNotFound
from posthouse.support import crashpoints
from posthouse.terminal import session as terminal
from posthouse.turns import runner
from posthouse.turns.state import TurnState
from posthouse.turns.turn_order import Order


def ordered(session: Session, prompt: Prompt) -> Order:
    """The turn that carries out *prompt*, with an index of its own. Nothing runs yet.

    Raises:
        InvalidInput: It asks for a model or a level that the tool has not.
        NoCurrentChat: It asks for the current conversation, and there is none.
    """
    # Read again: the turn before may just have ended, and pinned its conversation.
    now = sessions.read(session.manifest_path)
    order_of(now, prompt)  # whatever is wrong with it is found before an index is used up
    return order_of(count_turn(now), prompt)


def next_index(session: Session, prompt: Prompt) -> int:
    """The index that a turn of *prompt* would have now. Nothing is changed.

    Raises:
        InvalidInput, NoCurrentChat: As `ordered`.
    """
    return order_of(sessions.read(session.manifest_path), prompt).turn_index + 1


def start(session: Session, order: Order) -> None:
    """Raises: As `runner.start`."""
    runner.start(
        session.tmux,
        session.tmux_session_name,
        session.turns_root,
        order,
        variables_file=secrets.file_of(session.root),
    )
    crashpoints.reach("turn started")


def ended(record: mf.TurnRecord) -> mf.TurnRecord:
    """*record* with its outcome; the conversation of a turn that went well is pinned for the next one.

    A record whose turn still runs is given back as it is.
    """
    turn = artifacts.turn_of(record)
    final = artifacts.seen(record)
    if final.status == "completed":
        _pin(Path(record.turn_artifact_dir).parents[1] / names.MANIFEST_FILE, turn.state())
    return final


def _pin(manifest_path: Path, state: TurnState) -> None:
    """Let the next turn continue this one's conversation."""

    def pinned(manifest: Manifest) -> Manifest:
        return conversation.after_turn(manifest, turn_index=state.turn_index, chat_id=state.session_id)

    try:
        before = sessions.read(manifest_path)
    except (SessionNotFound, BadManifest):
        return  # it was cleaned up, and has no next turn
    after = sessions.update(before, pinned)
    chat_id = _pinned(after)
    if chat_id != _pinned(before):
        with suppress(Unavailable):  # its terminal has just ended; the manifest has the conversation
            terminal.set_environment(after.tmux, after.tmux_session_name, {names.RESUME_ID: chat_id})


def _pinned(session: Session) -> str | None:
    headless = session.manifest.headless
    return None if headless is None else headless.session_id
