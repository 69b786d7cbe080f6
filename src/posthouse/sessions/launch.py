"""Launch: from a tool and a name to a running agent.

The order makes a crash harmless: files first, then the record, then the terminal, then the program.
Without a record there is no session; once it exists, `agents list` shows the agent and
`agents stop` ends it.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from posthouse import tools
from posthouse.contracts import identity
from posthouse.contracts.events import Detail, Style
from posthouse.contracts.manifest import Mailbox
from posthouse.errors import Conflict, InvalidInput, PosthouseError
from posthouse.sessions import (
    brain,
    launch_files,
    mail_skills,
    mailbox_binding,
    publication,
    secrets,
    session,
    start,
)
from posthouse.sessions.launch_files import ManagedBy, SessionPlan
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.sessions.termination import close_terminal
from posthouse.support import clock, crashpoints, files, ids
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux
from posthouse.tools import spool
from posthouse.tools.tool import Chat, LoginMode, Permissions, Setup, Tool

DEFAULT_ROLE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """A launch as the user requests it."""

    tool: str
    working_directory: Path
    name: str | None = None
    agent_id: str | None = None
    headless: bool = False
    role_name: str = DEFAULT_ROLE
    role_text: str = ""
    model: str | None = None
    reasoning_level: int | None = None
    #: Names and values; the values go only to the program and a 0600 file.
    environment: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    style: Style = "plain"
    detail: Detail = "concise"
    permissions: Permissions = "ask"
    login: LoginMode = "inherit"
    #: The caller's variables and home folder, used only for an inherited login.
    caller: Mapping[str, str] = field(default_factory=dict)
    user_home: Path = field(default_factory=Path.home)
    #: Mailbox settings that override the defaults and the brain manifest; None: no mailbox.
    mailbox: Mapping[str, str] | None = None
    #: A prepared definition folder and home instead of generated ones.
    agent_def_dir: Path | None = None
    brain_manifest: Path | None = None
    #: The server that owns the agent's turns, if any.
    managed_by: ManagedBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedLaunch:
    """A checked launch. Nothing is written yet."""

    plan: SessionPlan
    values: Mapping[str, str]
    role_text: str
    tool: Tool
    setup: Setup
    #: False when the user supplied the home: it is neither written nor removed.
    owns_home: bool
    #: Warnings for the user.
    warnings: Sequence[str]


def prepare(spec: LaunchSpec, roots: Roots, server: Server, moment: datetime) -> PreparedLaunch:
    """Validate *spec* and plan the launch.

    Raises:
        InvalidInput: The request is invalid.
        Unavailable: The CLI is not installed.
    """
    tool = tools.load(spec.tool)
    if not spec.working_directory.is_dir():
        raise InvalidInput(f"working directory {spec.working_directory} is not a folder", code="bad_launch")
    given = brain.read(spec.brain_manifest) if spec.brain_manifest else None
    if given and given.tool != spec.tool:
        raise InvalidInput(
            f"{spec.brain_manifest} is for {given.tool}, not for {spec.tool}", code="bad_launch"
        )
    prepared = given or _new_home(spec, roots, tool)
    name = _name(spec, prepared)
    values = {**prepared.environment, **prepared.credentials, **spec.environment}
    backend = tool.headless_backend if spec.headless else launch_files.INTERACTIVE_BACKEND
    session_id = f"{backend}-{clock.compact(moment)}-{ids.hex_id(8)}"
    session_root = roots.runtime / "sessions" / backend / session_id
    # A home that the user supplied may serve several agents with different roles.
    beside = session_root / "definition" if given else prepared.home_path.with_suffix(".definition")
    plan = SessionPlan(
        session_root=session_root,
        created_at_utc=clock.iso_seconds(moment),
        generation_id=ids.generation(),
        backend=backend,
        tool=spec.tool,
        agent_name=name,
        agent_id=_agent_id(spec, prepared, name),
        tmux_session_name=identity.tmux_session_name(name, moment),
        tmux_socket=server.socket,
        working_directory=spec.working_directory,
        role_name=spec.role_name,
        role_method=tool.role_method,
        brain_manifest_path=spec.brain_manifest or _brain_path(roots, prepared),
        agent_def_dir=spec.agent_def_dir or beside,
        executable=prepared.executable,
        args=prepared.args + spec.args,
        home_variable=prepared.home_variable,
        home_path=prepared.home_path,
        variable_names=tuple(values),
        tool_version=tool.version(),
        style=spec.style,
        detail=spec.detail,
        model=spec.model,
        reasoning_level=spec.reasoning_level,
        permissions=spec.permissions,
        mailbox=_mailbox(spec, prepared, name, roots, moment),
        managed_by=spec.managed_by,
    )
    setup = Setup(
        home=plan.home_path,
        working_directory=plan.working_directory,
        user_home=spec.user_home,
        permissions=spec.permissions,
        login=spec.login,
        is_headless=spec.headless,
        spool=plan.session_root / spool.FOLDER,
        variables={**spec.caller, **values} if spec.login == "inherit" else values,
    )
    return PreparedLaunch(
        plan=plan,
        values=values,
        role_text=_role_text(spec, given),
        tool=tool,
        setup=setup,
        owns_home=given is None,
        warnings=tool.check(setup),
    )


def execute(
    prepared: PreparedLaunch,
    roots: Roots,
    registry: Registry,
    server: Server,
    *,
    open_mailbox: Callable[[Session], None] = lambda made: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Session:
    """Write, publish and start. An error rolls everything back except the mailbox.

    *open_mailbox* creates the mailbox that the manifest names. It survives a failed launch: the address may
    have received mail, and the next agent of that name uses it. *warn* receives warnings for the user. The
    caller holds the registry lock of the agent.

    Raises:
        RecordTaken: Another generation is active.
        Unavailable: The program exited at once, or tmux or the disk failed.
    """
    plan = prepared.plan
    # Checked before anything is written, so that a missing or frozen tmux leaves nothing behind.
    if terminal.exists(Tmux(server), plan.tmux_session_name):
        raise Conflict(f"a tmux session {plan.tmux_session_name!r} exists already", code="session_name_taken")
    try:
        made = _write(prepared)
        for text in mail_skills.install(made):
            warn(text)
        open_mailbox(made)
        crashpoints.reach("mailbox opened")
        registry.publish(launch_files.record_of(plan))
        crashpoints.reach("published")
        return start.start_agent(made, Chat(), roots)
    except BaseException:
        _roll_back(plan, registry, owns_home=prepared.owns_home)
        raise


def _write(prepared: PreparedLaunch) -> Session:
    plan = prepared.plan
    if prepared.owns_home:
        files.private_folder(plan.home_path)
        brain.write(plan.brain_manifest_path, launch_files.brain_of(plan))
    if not brain.role_path(plan.agent_def_dir, plan.role_name).exists():
        brain.write_role(plan.agent_def_dir, plan.role_name, prepared.role_text)
    files.private_folder(plan.session_root / spool.FOLDER)
    login = prepared.tool.prepare_home(prepared.setup)
    secrets.write(plan.session_root, {**prepared.values, **login})
    made = session.write(plan.session_root, launch_files.manifest_of(plan))
    publication.seed(made)
    return made


def _roll_back(plan: SessionPlan, registry: Registry, *, owns_home: bool) -> None:
    """Remove only what a failed launch created. Errors here do not replace the first one."""
    made = Session(plan.session_root, launch_files.manifest_of(plan))
    try:
        close_terminal(made.tmux, plan.tmux_session_name)
        terminal.remove_server_socket(made.tmux)
    except PosthouseError:
        # tmux or the program failed: the record stays, so that the agent can be found and stopped.
        return
    registry.remove(plan.agent_id, plan.generation_id)
    shutil.rmtree(plan.session_root, ignore_errors=True)
    if owns_home:
        shutil.rmtree(plan.home_path, ignore_errors=True)
        shutil.rmtree(plan.agent_def_dir, ignore_errors=True)
        plan.brain_manifest_path.unlink(missing_ok=True)


def _new_home(spec: LaunchSpec, roots: Roots, tool: Tool) -> brain.Brain:
    home = roots.runtime / "homes" / f"{spec.tool}-{ids.hex_id(12)}"
    return brain.Brain(
        tool=spec.tool,
        home_path=home,
        home_variable=tool.home_variable,
        executable=tool.executable(),
        environment={},
        credentials={},
    )


def _brain_path(roots: Roots, prepared: brain.Brain) -> Path:
    return roots.runtime / "manifests" / f"{prepared.home_path.name}.yaml"


def _name(spec: LaunchSpec, prepared: brain.Brain) -> str:
    if spec.name is not None:
        return identity.user_name(spec.name)
    if prepared.agent_name is not None:
        return identity.component(prepared.agent_name, what="agent name")
    return identity.generated_name(spec.tool, spec.role_name)


def _mailbox(
    spec: LaunchSpec, prepared: brain.Brain, name: str, roots: Roots, moment: datetime
) -> Mailbox | None:
    if spec.mailbox is None:
        return None
    payload = {"transport": "filesystem", **(prepared.mailbox or {}), **spec.mailbox}
    owner = mailbox_binding.MailboxOwner(
        agent_name=name, default_root=roots.mailbox, working_directory=spec.working_directory
    )
    return mailbox_binding.resolve(mailbox_binding.parse_declaration(payload), owner, moment=moment)


def _agent_id(spec: LaunchSpec, prepared: brain.Brain, name: str) -> str:
    given = spec.agent_id or prepared.agent_id
    return identity.component(given, what="agent id") if given else identity.default_id(name)


def _role_text(spec: LaunchSpec, given: brain.Brain | None) -> str:
    if spec.agent_def_dir is not None:
        return brain.read_role(spec.agent_def_dir, spec.role_name)
    if spec.role_text:
        return spec.role_text
    return (given.role_text or "") if given else ""
