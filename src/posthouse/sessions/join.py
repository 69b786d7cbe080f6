"""Join: manage a TUI that already runs in tmux, without restarting it."""

from dataclasses import dataclass
from pathlib import Path

from posthouse import tools
from posthouse.contracts import identity, names
from posthouse.contracts.registry import ENDED
from posthouse.errors import Conflict, InvalidInput
from posthouse.sessions import brain, launch_files, publication, secrets, session, start
from posthouse.sessions.current import TmuxLocation
from posthouse.sessions.launch_files import SessionPlan
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.support import clock, files, ids
from posthouse.terminal import dead_panes
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux
from posthouse.terminal.pane import Pane


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSpec:
    """A join as the user requests it."""

    tool: str
    name: str
    working_directory: Path
    home: Path
    agent_id: str | None = None


def join(spec: JoinSpec, here: TmuxLocation, roots: Roots, registry: Registry) -> Session:
    """Adopt the agent in window 0, pane 0 of *here*. It has no hooks, so less evidence is available.

    A session whose windows count from 1 is renumbered.

    Raises:
        InvalidInput: Nothing runs in the pane.
        Conflict: The session or the name is managed already.
    """
    tmux = Tmux(here.server)
    plan = _plan(spec, here, roots)
    if terminal.environment(tmux, here.session_name).get(names.MANIFEST_PATH):
        raise Conflict(f"tmux session {here.session_name!r} is managed already")
    with registry.locked(plan.agent_id):
        if _is_taken(spec, plan, registry):
            raise Conflict(f"an agent {plan.agent_name!r} exists already: choose another name")
        pane = _agent_pane(tmux, here.session_name)
        made = _write(plan)
        registry.publish(launch_files.record_of(plan))
        dead_panes.install_hook(tmux, pane)
        terminal.set_environment(tmux, here.session_name, start.discovery(made, roots))
        return session.update(made, lambda manifest: start.with_pane(manifest, pane))


def _plan(spec: JoinSpec, here: TmuxLocation, roots: Roots) -> SessionPlan:
    tool = tools.load(spec.tool)
    name = identity.user_name(spec.name)
    moment = clock.now()
    session_id = f"{launch_files.INTERACTIVE_BACKEND}-{clock.compact(moment)}-{ids.hex_id(8)}"
    root = roots.runtime / "sessions" / launch_files.INTERACTIVE_BACKEND / session_id
    return SessionPlan(
        session_root=root,
        created_at_utc=clock.iso_seconds(moment),
        generation_id=ids.generation(),
        backend=launch_files.INTERACTIVE_BACKEND,
        tool=spec.tool,
        agent_name=name,
        agent_id=identity.component(spec.agent_id or identity.default_id(name), what="agent id"),
        tmux_session_name=here.session_name,
        tmux_socket=here.server.socket,
        working_directory=spec.working_directory,
        role_name="joined",
        role_method=tool.role_method,
        brain_manifest_path=root / "brain.yaml",
        agent_def_dir=root / "definition",
        executable=tool.executable(),
        args=(),
        home_variable=tool.home_variable,
        home_path=spec.home,
        variable_names=(),
        tool_version=tool.version(),
        joined=True,
    )


def _is_taken(spec: JoinSpec, plan: SessionPlan, registry: Registry) -> bool:
    """Whether the name or id is in use. As at a launch, an agent with an explicit id may share its name.

    Ended agents that can't be relaunched, such as joined ones, free their name.
    """
    blocking = [
        record
        for record in registry.records()
        if record.lifecycle.relaunchable or record.lifecycle.state not in ENDED
    ]
    return any(
        record.agent_id == plan.agent_id
        or (spec.agent_id is None and identity.same_agent(record.agent_name, plan.agent_name))
        for record in blocking
    )


def _agent_pane(tmux: Tmux, session_name: str) -> Pane:
    try:
        pane = terminal.agent_pane(tmux, session_name)
    except terminal.NoAgentPane:
        terminal.keep_window_zero(tmux, session_name)
        pane = terminal.agent_pane(tmux, session_name)
    if pane.dead:
        raise InvalidInput(f"window 0 of tmux session {session_name!r} runs nothing", code="cant_join")
    return pane


def _write(plan: SessionPlan) -> Session:
    files.private_folder(plan.session_root)
    brain.write(plan.brain_manifest_path, launch_files.brain_of(plan))
    brain.write_role(plan.agent_def_dir, plan.role_name, "")
    secrets.write(plan.session_root, {})
    made = session.write(plan.session_root, launch_files.manifest_of(plan))
    publication.seed(made)
    return made
