"""Join: take a TUI that somebody started in tmux under management, without touching it."""

from dataclasses import dataclass
from pathlib import Path

from posthouse import tools
from posthouse.contracts import identity, names
from posthouse.errors import Conflict, InvalidInput
from posthouse.sessions import blueprint, brain, publication, secrets, session, start
from posthouse.sessions.blueprint import Blueprint
from posthouse.sessions.current import Place
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.support import clock, files, ids
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux


class CantJoin(InvalidInput):
    """The tmux session can't be joined as asked; nothing was changed."""

    code = "cant_join"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSpec:
    """What a user asks for."""

    tool: str
    name: str
    working_directory: Path
    home: Path
    agent_id: str | None = None


def join(spec: JoinSpec, here: Place, roots: Roots, registry: Registry) -> Session:
    """Adopt the agent in window 0, pane 0 of *here*. It has no hooks, so there is less evidence.

    Raises:
        CantJoin: Nothing runs there.
        Conflict: The session or the name is managed already.
    """
    tool = tools.load(spec.tool)
    name = identity.user_name(spec.name)
    agent_id = (
        identity.component(spec.agent_id, what="agent id") if spec.agent_id else identity.default_id(name)
    )
    tmux = Tmux(here.server)
    pane = terminal.agent_pane(tmux, here.session_name)
    if pane.dead:
        raise CantJoin(f"window 0 of tmux session {here.session_name!r} runs nothing")
    if terminal.environment(tmux, here.session_name).get(names.MANIFEST_PATH):
        raise Conflict(f"tmux session {here.session_name!r} is managed already")
    moment = clock.now()
    session_id = f"{blueprint.INTERACTIVE_BACKEND}-{clock.compact(moment)}-{ids.hex_id(8)}"
    root = roots.runtime / "sessions" / blueprint.INTERACTIVE_BACKEND / session_id
    plan = Blueprint(
        session_root=root,
        created_at_utc=clock.iso_seconds(moment),
        generation_id=ids.generation(),
        backend=blueprint.INTERACTIVE_BACKEND,
        tool=spec.tool,
        agent_name=name,
        agent_id=agent_id,
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
    with registry.locked(agent_id):
        if registry.get(agent_id) is not None:
            raise Conflict(f"an agent {name!r} exists already: choose another name")
        made = _write(plan)
        registry.publish(blueprint.record_of(plan))
        terminal.set_environment(tmux, here.session_name, start.discovery(made, roots))
        return session.update(made, lambda manifest: start.with_pane(manifest, pane))


def _write(plan: Blueprint) -> Session:
    files.private_folder(plan.session_root)
    brain.write_role(plan.agent_def_dir, plan.role_name, "")
    secrets.write(plan.session_root, {})
    made = session.write(plan.session_root, blueprint.manifest_of(plan))
    publication.seed(made)
    return made
