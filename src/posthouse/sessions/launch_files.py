"""Builds the files of a new session. Pure: ids and times are arguments."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from posthouse.contracts import manifest as m
from posthouse.contracts import names
from posthouse.contracts import registry as r
from posthouse.contracts.events import Detail, Style
from posthouse.sessions import conversation, mailbox_binding
from posthouse.sessions.brain import Brain
from posthouse.sessions.registry import lease
from posthouse.sessions.session import TMUX_SOCKET
from posthouse.tools.tool import Permissions

INTERACTIVE_BACKEND: m.Backend = "local_interactive"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedBy:
    """The server that owns a headless agent's turns. The agent's gateway requests each turn there."""

    api_base_url: str
    #: The server's reference for the agent.
    agent_ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """All decisions of a launch, made before anything is written."""

    session_root: Path
    created_at_utc: str
    generation_id: str
    backend: m.Backend
    tool: str
    agent_name: str
    agent_id: str
    tmux_session_name: str
    tmux_socket: str | None
    working_directory: Path
    role_name: str
    role_method: m.RoleMethod
    brain_manifest_path: Path
    agent_def_dir: Path
    executable: str
    args: tuple[str, ...]
    home_variable: str
    home_path: Path
    variable_names: tuple[str, ...]
    tool_version: str | None
    style: Style = "plain"
    detail: Detail = "concise"
    model: str | None = None
    reasoning_level: int | None = None
    permissions: Permissions = "ask"
    #: None: no mailbox.
    mailbox: m.Mailbox | None = None
    #: Adopted from a running tmux session; its start command is unknown.
    joined: bool = False
    #: None: the gateway or command that drives the agent runs its turns.
    managed_by: ManagedBy | None = None

    @property
    def session_id(self) -> str:
        return self.session_root.name

    @property
    def is_headless(self) -> bool:
        return self.backend in m.HEADLESS


def manifest_of(plan: SessionPlan) -> m.Manifest:
    """The manifest before the terminal exists: pane and window are null."""
    directory = str(plan.working_directory)
    policy = _policy(plan)
    route = m.GatewayRoute(tmux_window_name=names.AGENT_WINDOW)
    manifest = m.Manifest(
        schema_version=m.SCHEMA_VERSION,
        backend=plan.backend,
        tool=plan.tool,
        role_name=plan.role_name,
        created_at_utc=plan.created_at_utc,
        working_directory=directory,
        brain_manifest_path=str(plan.brain_manifest_path),
        agent_name=plan.agent_name,
        agent_id=plan.agent_id,
        tmux_session_name=plan.tmux_session_name,
        registry_generation_id=plan.generation_id,
        runtime=m.Runtime(
            session_id=plan.session_id,
            agent_def_dir=str(plan.agent_def_dir),
            registry_generation_id=plan.generation_id,
        ),
        tmux=m.TmuxSurface(session_name=plan.tmux_session_name, primary_window_name=names.AGENT_WINDOW),
        interactive=m.Interactive(
            working_directory=directory, role_bootstrap_applied=False, tmux_window_name=names.AGENT_WINDOW
        ),
        agent_launch_authority=m.AgentLaunchAuthority(
            backend=plan.backend,
            tool=plan.tool,
            tmux_session_name=plan.tmux_session_name,
            working_directory=directory,
            session_id=plan.session_id,
            session_origin="joined_tmux" if plan.joined else None,
            posture_kind="unavailable" if plan.joined else "runtime_launch_plan",
        ),
        gateway_authority=m.GatewayAuthority(attach=route, control=_control(plan, route)),
        launch_plan=_launch_plan(plan, policy),
        launch_policy_provenance=policy,
        backend_state=_backend_state(plan),
        headless=_headless(plan) if plan.is_headless else None,
        local_interactive=None if plan.is_headless else _interactive(plan),
    )
    return manifest if manifest.headless is None else conversation.with_headless(manifest, manifest.headless)


def record_of(plan: SessionPlan) -> r.Record:
    """The session's registry record. It is active at once, so that a crash leaves a trace."""
    return r.Record(
        schema_version=r.SCHEMA_VERSION,
        agent_name=plan.agent_name,
        agent_id=plan.agent_id,
        generation_id=plan.generation_id,
        lifecycle=r.Lifecycle(
            state="active", relaunchable=not plan.joined, state_updated_at=plan.created_at_utc
        ),
        identity=r.Identity(backend=plan.backend, tool=plan.tool),
        runtime=r.Runtime(
            manifest_path=str(plan.session_root / names.MANIFEST_FILE),
            session_root=str(plan.session_root),
            agent_def_dir=str(plan.agent_def_dir),
        ),
        terminal=r.Terminal(
            current_session_name=plan.tmux_session_name, last_session_name=plan.tmux_session_name
        ),
        liveness=lease(),
        mailbox=mailbox_binding.registry_mailbox(plan.mailbox),
    )


def brain_of(plan: SessionPlan) -> Brain:
    """The brain manifest for a session whose user supplied none."""
    return Brain(
        tool=plan.tool,
        home_path=plan.home_path,
        home_variable=plan.home_variable,
        executable=plan.executable,
        args=plan.args,
        environment={},
        credentials={},
        agent_name=plan.agent_name,
        agent_id=plan.agent_id,
    )


def _control(plan: SessionPlan, route: m.GatewayRoute) -> m.GatewayRoute:
    if plan.managed_by is None:
        return route
    return structs.replace(
        route, api_base_url=plan.managed_by.api_base_url, managed_agent_ref=plan.managed_by.agent_ref
    )


def _policy(plan: SessionPlan) -> m.LaunchPolicy | None:
    """None when the tool's version is unknown: the contract requires the version."""
    if plan.tool_version is None:
        return None
    return m.LaunchPolicy(
        requested_operator_prompt_mode="unattended" if plan.permissions == "all" else "as_is",
        detected_tool_version=plan.tool_version,
        selected_strategy_id=f"{plan.tool}-{plan.permissions}",
        selection_source="registry",
    )


def _launch_plan(plan: SessionPlan, policy: m.LaunchPolicy | None) -> m.LaunchPlan:
    metadata: dict[str, Any] = {
        "headless_display_style": plan.style,
        "headless_display_detail": plan.detail,
        "permissions": plan.permissions,
    }
    if plan.model is not None:
        metadata["model"] = plan.model
    if plan.reasoning_level is not None:
        metadata["reasoning_level"] = plan.reasoning_level
    return m.LaunchPlan(
        backend=plan.backend,
        tool=plan.tool,
        executable=plan.executable,
        args=list(plan.args),
        working_directory=str(plan.working_directory),
        home_selector=m.HomeSelector(env_var=plan.home_variable, home_path=str(plan.home_path)),
        env_var_names=sorted(plan.variable_names),
        role_injection=m.RoleInjection(method=plan.role_method, role_name=plan.role_name),
        metadata=metadata,
        mailbox=plan.mailbox,
        launch_policy_provenance=policy,
    )


def _backend_state(plan: SessionPlan) -> dict[str, Any]:
    return {
        TMUX_SOCKET: plan.tmux_socket,
        "working_directory": str(plan.working_directory),
        "tmux_session_name": plan.tmux_session_name,
        "tmux_window_name": names.AGENT_WINDOW,
        "tmux_window_id": None,
        "tmux_pane_id": None,
    }


def _headless(plan: SessionPlan) -> m.Headless:
    return m.Headless(
        session_id=None,
        turn_index=0,
        role_bootstrap_applied=False,
        working_directory=str(plan.working_directory),
    )


def _interactive(plan: SessionPlan) -> m.LocalInteractive:
    return m.LocalInteractive(
        turn_index=0, role_bootstrap_applied=False, working_directory=str(plan.working_directory)
    )
