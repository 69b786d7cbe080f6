"""Clean-up: mark dead agents stopped and, on request, purge stopped ones.

Live agents are not touched, nor anything on a tmux server that does not answer.
"""

import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.errors import Conflict, PosthouseError
from posthouse.sessions import session
from posthouse.sessions.agents import Agents
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session

#: A launch that is still writing its folder is far younger than this.
_ORPHAN_AGE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Cleaned:
    """One repaired or removed item."""

    what: str
    action: str


def clean_up(agents: Agents, *, purge: bool = False) -> Iterator[Cleaned]:
    """Mark dead agents stopped; with *purge* also remove stopped agents and their folders."""
    for entry in agents.registry.entries():
        if entry.is_foreign:
            yield Cleaned(f"record {entry.agent_id}", f"left alone: {entry.problem}")
        elif entry.record is None:
            agents.registry.remove(entry.agent_id)
            yield Cleaned(f"record {entry.agent_id}", f"removed: {entry.problem or 'it has no record'}")
    for agent in agents.registered(states=None):
        if agent.health == "stale_missing_session":
            agents.mark_stopped(agent, reason="its tmux session was gone")
            yield Cleaned(f"agent {agent.name}", "marked stopped: its tmux session was gone")
        elif purge and agent.health == "stopped":
            forget(agents, agent)
            yield Cleaned(f"agent {agent.name}", "purged")
    if purge:
        yield from _purge_orphans(agents)


def forget(agents: Agents, agent: Agent) -> None:
    """Remove a stopped agent's record, its session folder, and the files its launch created for it alone."""
    with agents.registry.locked(agent.agent_id):
        agents.registry.remove(agent.agent_id, agent.record.generation_id)
        if agent.session is not None:
            _remove_folders(agent.session, _paths_in_use(agents))


def require_stopped(agent: Agent) -> Session:
    """The session of a stopped agent.

    Raises:
        Conflict: The agent is running, or its state is unknown.
    """
    if agent.session is None or agent.health not in ("stopped", "stale_missing_session"):
        raise Conflict(
            f"agent {agent.name!r} is not stopped ({agent.health}); stop it first", code="agent_not_stopped"
        )
    return agent.session


def log_files(ended: Session) -> list[Path]:
    """Log files of the session's gateways, rotated and diagnostic ones included, history excluded."""
    logs = (ended.gateway_root / gf.LOG).parent
    return sorted(logs.iterdir()) if logs.is_dir() else []


def mail_secret_files(ended: Session) -> list[Path]:
    """The mailbox credentials stored with the session."""
    secrets = ended.root / names.MAIL_SECRETS
    return [secrets] if secrets.exists() else []


def remove(paths: Iterable[Path]) -> None:
    """Remove files and folders. A symlink is removed, never its target."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _purge_orphans(agents: Agents) -> Iterator[Cleaned]:
    """Remove session folders of launches that were killed before they registered."""
    known = {record.runtime.session_root for record in agents.registry.records()}
    oldest_kept = time.time() - _ORPHAN_AGE_SECONDS
    for root in (agents.roots.runtime / "sessions").glob("*/*"):
        if str(root) in known or root.stat().st_mtime > oldest_kept:
            continue
        try:
            _remove_folders(session.read(root / names.MANIFEST_FILE), _paths_in_use(agents))
        except PosthouseError:
            shutil.rmtree(root)
        yield Cleaned(f"folder {root}", "purged: no agent uses it")


def _paths_in_use(agents: Agents) -> set[Path]:
    """Launch paths of the remaining agents: several agents may share one prepared home."""
    left = [agent.session for agent in agents.registered(states=None) if agent.session is not None]
    return {path for found in left for path in _launch_paths(found)}


def _launch_paths(found: Session) -> list[Path]:
    manifest = found.manifest
    paths = [manifest.launch_plan.home_selector.home_path, manifest.brain_manifest_path]
    return [Path(path) for path in (*paths, manifest.runtime.agent_def_dir) if path]


def _remove_folders(ended: Session, in_use: set[Path]) -> None:
    """Remove the session folder, and the home, definition and brain manifest when a launch created them."""
    for path in _launch_paths(ended):
        if path in in_use or not path.is_relative_to(ended.runtime_root):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(ended.root)
