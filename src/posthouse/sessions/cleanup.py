"""Clean-up: what died without saying so is put right, and on request what ended is forgotten.

Nothing that lives is touched, and nothing on a tmux server that does not answer.
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
    """One thing that was put right or removed."""

    what: str
    action: str


class NotStopped(Conflict):
    """The agent may still use what was to be removed; nothing was."""

    code = "agent_not_stopped"


def clean_up(agents: Agents, *, purge: bool = False) -> Iterator[Cleaned]:
    """Put the records of dead agents right; with *purge* also forget stopped ones and their folders."""
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
    """Remove the record of a stopped agent, its session's folder, and what its launch made for it alone."""
    with agents.registry.locked(agent.agent_id):
        agents.registry.remove(agent.agent_id, agent.record.generation_id)
        if agent.session is not None:
            _remove_folders(agent.session, _in_use(agents))


def ended(agent: Agent) -> Session:
    """The session of an agent that is over.

    Raises:
        NotStopped: It is not, or nobody can tell.
    """
    if agent.session is None or agent.health not in ("stopped", "stale_missing_session"):
        raise NotStopped(f"agent {agent.name!r} is not stopped ({agent.health}); stop it first")
    return agent.session


def logs_of(ended: Session) -> list[Path]:
    """The logs of its gateways, with what was rotated and the diagnostics. History is none of them."""
    logs = (ended.gateway_root / gf.LOG).parent
    return sorted(logs.iterdir()) if logs.is_dir() else []


def mail_secrets_of(ended: Session) -> list[Path]:
    """The credentials of its mailbox that were kept with the session."""
    secrets = ended.root / names.MAIL_SECRETS
    return [secrets] if secrets.exists() else []


def remove(paths: Iterable[Path]) -> None:
    """Remove files and folders; a link is removed, and never what it leads to."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _purge_orphans(agents: Agents) -> Iterator[Cleaned]:
    """Folders of launches that were killed before anybody could know of them."""
    known = {record.runtime.session_root for record in agents.registry.records()}
    oldest_kept = time.time() - _ORPHAN_AGE_SECONDS
    for root in (agents.roots.runtime / "sessions").glob("*/*"):
        if str(root) in known or root.stat().st_mtime > oldest_kept:
            continue
        try:
            _remove_folders(session.read(root / names.MANIFEST_FILE), _in_use(agents))
        except PosthouseError:
            shutil.rmtree(root)
        yield Cleaned(f"folder {root}", "purged: no agent uses it")


def _in_use(agents: Agents) -> set[Path]:
    """What the agents that are left were launched from: one prepared home may serve several."""
    left = [agent.session for agent in agents.registered(states=None) if agent.session is not None]
    return {path for found in left for path in _launched_from(found)}


def _launched_from(found: Session) -> list[Path]:
    manifest = found.manifest
    paths = [manifest.launch_plan.home_selector.home_path, manifest.brain_manifest_path]
    return [Path(path) for path in (*paths, manifest.runtime.agent_def_dir) if path]


def _remove_folders(ended: Session, in_use: set[Path]) -> None:
    """The session's folder, and the home, definition and brain manifest if a launch of ours made them."""
    for path in _launched_from(ended):
        if path in in_use or not path.is_relative_to(ended.runtime_root):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(ended.root)
