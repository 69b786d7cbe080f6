"""Starts and finishes turns of a session. Called in threads, because tmux and the disk block."""

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


def create_order(session: Session, prompt: Prompt) -> Order:
    """The order of a turn for *prompt*, with a newly allocated index. Nothing runs yet.

    Raises:
        InvalidInput: The tool does not support the model or the reasoning level.
        PromptFailed: There is no current conversation.
    """
    # Read again: the previous turn may just have ended and pinned its conversation.
    now = sessions.read(session.manifest_path)
    order_of(now, prompt)  # validate before an index is allocated
    return order_of(count_turn(now), prompt)


def next_index(session: Session, prompt: Prompt) -> int:
    """The index that a turn of *prompt* would get now. Nothing is changed.

    Raises:
        InvalidInput, PromptFailed: As `create_order`.
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


def finish(record: mf.TurnRecord) -> mf.TurnRecord:
    """*record* with its outcome; after success its conversation is pinned for the next turn.

    A record whose turn still runs is returned unchanged.
    """
    turn = artifacts.turn_of(record)
    final = artifacts.refresh(record)
    if final.status == "completed":
        _pin(Path(record.turn_artifact_dir).parents[1] / names.MANIFEST_FILE, turn.state())
    return final


def _pin(manifest_path: Path, state: TurnState) -> None:
    """Make the next turn continue this turn's conversation."""

    def pinned(manifest: Manifest) -> Manifest:
        return conversation.after_turn(manifest, turn_index=state.turn_index, chat_id=state.session_id)

    try:
        before = sessions.read(manifest_path)
    except (SessionNotFound, BadManifest):
        return  # the session was cleaned up
    after = sessions.update(before, pinned)
    chat_id = _pinned(after)
    if chat_id != _pinned(before):
        with suppress(Unavailable):  # its terminal has ended; the manifest has the conversation
            terminal.set_environment(after.tmux, after.tmux_session_name, {names.RESUME_ID: chat_id})


def _pinned(session: Session) -> str | None:
    headless = session.manifest.headless
    return None if headless is None else headless.session_id
