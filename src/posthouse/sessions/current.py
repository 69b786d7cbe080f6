"""The session that the caller runs in, for `agents self …` and an attach from inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import names
from posthouse.contracts.manifest import MAINTAINED
from posthouse.errors import Conflict, NotFound, PosthouseError
from posthouse.sessions import session
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux


@dataclass(frozen=True, slots=True)
class TmuxLocation:
    """A tmux server and session name."""

    server: Server
    session_name: str


def locate(environment: Mapping[str, str]) -> TmuxLocation:
    """The caller's tmux server and session.

    Raises:
        NotFound: The caller does not run inside tmux.
    """
    socket = environment.get("TMUX", "").split(",")[0]
    pane = environment.get("TMUX_PANE", "")
    if not socket or not pane:
        raise NotFound(
            "this command acts on the tmux session it runs in, and it does not run in one", code="not_in_tmux"
        )
    server = Server(socket)
    return TmuxLocation(server, Tmux(server).run("display-message", "-p", "-t", pane, "#{session_name}"))


def resolve(here: TmuxLocation, registry: Registry) -> Session:
    """The managed session at *here*.

    Raises:
        NotFound: The tmux session names no manifest, and no fresh record leads to one.
        Conflict: The manifest belongs to another session, or its backend is not supported.
    """
    environment = terminal.environment(Tmux(here.server), here.session_name)
    found = _by_manifest(environment) or _by_record(environment, registry)
    if found is None:
        raise NotFound(
            f"tmux session {here.session_name!r} is not a managed agent "
            f"(no usable {names.MANIFEST_PATH}, no fresh record for {names.AGENT_ID})",
            code="not_an_agent",
        )
    if found.tmux_session_name != here.session_name:
        raise Conflict(
            f"{found.manifest_path} belongs to tmux session {found.tmux_session_name!r}, "
            f"not to {here.session_name!r}",
            code="wrong_session",
        )
    if found.manifest.backend not in MAINTAINED:
        raise Conflict(f"backend {found.manifest.backend} is only shown, never driven", code="wrong_session")
    return found


def _by_manifest(environment: Mapping[str, str]) -> Session | None:
    text = environment.get(names.MANIFEST_PATH, "")
    if not text.startswith("/"):
        return None
    try:
        return session.read(Path(text))
    except PosthouseError:
        # Stale pointer: the record may still lead to the manifest.
        return None


def _by_record(environment: Mapping[str, str], registry: Registry) -> Session | None:
    agent_id = environment.get(names.AGENT_ID, "")
    record = registry.get(agent_id) if agent_id else None
    if record is None or not record.is_active(clock.now()):
        return None
    return session.read(Path(record.runtime.manifest_path))
