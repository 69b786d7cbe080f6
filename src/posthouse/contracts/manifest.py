"""`manifest.json`, schema 4: the one authority for a session.

It never holds a secret, nor the host or port of a live gateway.
"""

from typing import Annotated, Any, Literal, get_args

import msgspec

from posthouse.contracts.identity import COMPONENT_PATTERN
from posthouse.contracts.strict import Count, NonBlank, PositiveInt, Strict

SCHEMA_VERSION = 4

Backend = Literal[
    "local_interactive",
    "codex_headless",
    "codex_app_server",
    "claude_headless",
    "gemini_headless",
    "cao_rest",
    "houmao_server_rest",
]
HEADLESS: frozenset[str] = frozenset({"codex_headless", "claude_headless", "gemini_headless"})
MAINTAINED: frozenset[str] = HEADLESS | {"local_interactive"}
LEGACY: frozenset[str] = frozenset(get_args(Backend)) - MAINTAINED
WITHOUT_TMUX: frozenset[str] = frozenset({"codex_app_server"})

LaunchAuthority = Literal["runtime", "external"]
ParsingMode = Literal["cao_only", "shadow_only"]

Component = Annotated[str, msgspec.Meta(pattern=COMPONENT_PATTERN)]


class Runtime(Strict, frozen=True, kw_only=True):
    """Runtime facts that the launcher records."""

    session_id: str | None = None
    memory_root: str | None = None
    memo_file: str | None = None
    pages_dir: str | None = None
    agent_def_dir: str | None = None
    agent_pid: PositiveInt | None = None
    registry_generation_id: str | None = None
    registry_launch_authority: LaunchAuthority = "runtime"

    def __post_init__(self) -> None:
        memory = (self.memory_root, self.memo_file, self.pages_dir)
        if any(memory) and not all(memory):
            raise ValueError("memory_root, memo_file and pages_dir are set together or not at all")


class TmuxSurface(Strict, frozen=True, kw_only=True):
    """The agent's pane: window 0, pane 0 of its session."""

    session_name: NonBlank
    primary_window_index: str = "0"
    primary_window_role: Literal["managed_agent_surface"] = "managed_agent_surface"
    primary_window_name: str | None = None
    primary_window_id: str | None = None
    primary_pane_id: str | None = None


class Interactive(Strict, frozen=True, kw_only=True):
    turn_index: Count = 0
    working_directory: str | None = None
    role_bootstrap_applied: bool | None = None
    terminal_id: str | None = None
    parsing_mode: ParsingMode | None = None
    tmux_window_name: str | None = None


class LaunchEnv(Strict, frozen=True, kw_only=True):
    """One variable of a joined session's launch: a literal, or a name to inherit."""

    mode: Literal["literal", "inherit"]
    name: NonBlank
    value: str | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if (self.mode == "literal") == (self.value is msgspec.UNSET):
            raise ValueError("a literal binding has a value, an inherited one has none")


Posture = Literal["runtime_launch_plan", "tui_launch_options", "headless_launch_options", "unavailable"]


class AgentLaunchAuthority(Strict, frozen=True, kw_only=True):
    """How the agent may be started again."""

    backend: Backend
    tool: NonBlank
    tmux_session_name: str | None = None
    primary_window_index: str = "0"
    primary_window_id: str | None = None
    primary_pane_id: str | None = None
    working_directory: NonBlank
    session_id: str | None = None
    profile_name: str | None = None
    profile_path: str | None = None
    session_origin: Literal["joined_tmux"] | None = None
    posture_kind: Posture | None = None
    launch_args: list[NonBlank] | None = None
    launch_env: list[LaunchEnv] | None = None

    def __post_init__(self) -> None:
        given = self.launch_args is not None or self.launch_env is not None
        by_options = self.posture_kind in ("tui_launch_options", "headless_launch_options")
        if by_options and not given:
            raise ValueError(f"posture {self.posture_kind} needs launch_args or launch_env")
        if self.posture_kind in ("runtime_launch_plan", "unavailable") and given:
            raise ValueError(f"posture {self.posture_kind} forbids launch_args and launch_env")


class GatewayRoute(Strict, frozen=True, kw_only=True):
    api_base_url: str | None = None
    managed_agent_ref: str | None = None
    terminal_id: str | None = None
    profile_name: str | None = None
    profile_path: str | None = None
    parsing_mode: ParsingMode | None = None
    tmux_window_name: str | None = None


class GatewayAuthority(Strict, frozen=True, kw_only=True):
    attach: GatewayRoute
    control: GatewayRoute


class LaunchPolicy(Strict, frozen=True, kw_only=True):
    """Which launch policy was chosen, and why."""

    requested_operator_prompt_mode: Literal["as_is", "unattended"]
    detected_tool_version: str | None = None
    selected_strategy_id: str | None = None
    selection_source: Literal["registry", "env_override"]
    override_env_var_name: str | None = None


class HomeSelector(Strict, frozen=True, kw_only=True):
    env_var: NonBlank
    home_path: NonBlank


RoleMethod = Literal[
    "native_developer_instructions", "native_append_system_prompt", "bootstrap_message", "cao_profile"
]


class RoleInjection(Strict, frozen=True, kw_only=True):
    method: RoleMethod
    role_name: NonBlank


class FilesystemMailbox(Strict, frozen=True, kw_only=True, tag_field="transport", tag="filesystem"):
    principal_id: NonBlank
    address: NonBlank
    bindings_version: NonBlank
    filesystem_root: NonBlank
    mailbox_kind: Literal["in_root", "symlink"] = "in_root"
    mailbox_path: str | None = None

    def __post_init__(self) -> None:
        if self.mailbox_kind == "symlink" and self.mailbox_path is None:
            raise ValueError("a symlink mailbox needs mailbox_path")
        expected = f"{self.filesystem_root}/mailboxes/{self.address}"
        if self.mailbox_kind == "in_root" and self.mailbox_path not in (None, expected):
            raise ValueError(f"mailbox_path of an in_root mailbox is {expected}")


class StalwartMailbox(Strict, frozen=True, kw_only=True, tag_field="transport", tag="stalwart"):
    principal_id: NonBlank
    address: NonBlank
    bindings_version: NonBlank
    jmap_url: NonBlank
    management_url: NonBlank
    login_identity: NonBlank
    credential_ref: NonBlank


Mailbox = FilesystemMailbox | StalwartMailbox


class LaunchPlan(Strict, frozen=True, kw_only=True):
    """How the program is started. Variables are listed by name only."""

    backend: Backend
    tool: NonBlank
    executable: NonBlank
    args: list[str]
    working_directory: NonBlank
    home_selector: HomeSelector
    env_var_names: list[str]
    role_injection: RoleInjection
    metadata: dict[str, Any]
    mailbox: Mailbox | None = None
    launch_policy_provenance: LaunchPolicy | None = None


class Headless(Strict, frozen=True, kw_only=True):
    #: The provider's chat that the next turn resumes.
    session_id: str | None
    turn_index: Count
    role_bootstrap_applied: bool
    working_directory: NonBlank
    resume_selection_kind: Literal["none", "last", "exact"] = "none"
    resume_selection_value: str | None = None

    def __post_init__(self) -> None:
        if (self.resume_selection_kind == "exact") != (self.resume_selection_value is not None):
            raise ValueError("resume_selection_value goes with resume_selection_kind exact, and only with it")


class LocalInteractive(Strict, frozen=True, kw_only=True):
    turn_index: Count
    role_bootstrap_applied: bool
    working_directory: NonBlank


class CodexAppServer(Strict, frozen=True, kw_only=True):
    thread_id: str | None
    turn_index: Count
    pid: PositiveInt | None = None
    process_started_at_utc: str | None = None


class HoumaoServer(Strict, frozen=True, kw_only=True):
    api_base_url: NonBlank
    session_name: NonBlank
    terminal_id: NonBlank
    tmux_window_name: str | None = None
    parsing_mode: ParsingMode
    turn_index: Count = 0


class Cao(Strict, frozen=True, kw_only=True):
    api_base_url: NonBlank
    session_name: NonBlank
    terminal_id: NonBlank
    profile_name: NonBlank
    profile_path: NonBlank
    tmux_window_name: str | None = None
    parsing_mode: ParsingMode
    turn_index: Count = 0


class Manifest(Strict, frozen=True, kw_only=True):
    """A session's manifest. Fields that a backend does not use are null."""

    schema_version: int
    backend: Backend
    tool: NonBlank
    role_name: NonBlank
    created_at_utc: NonBlank
    working_directory: NonBlank
    brain_manifest_path: NonBlank
    agent_name: Component | None = None
    agent_id: Component | None = None
    tmux_session_name: str | None = None
    registry_generation_id: str | None = None
    registry_launch_authority: LaunchAuthority = "runtime"
    runtime: Runtime
    tmux: TmuxSurface | None = None
    interactive: Interactive | None = None
    agent_launch_authority: AgentLaunchAuthority | None = None
    gateway_authority: GatewayAuthority | None = None
    launch_plan: LaunchPlan
    launch_policy_provenance: LaunchPolicy | None = None
    backend_state: dict[str, Any]
    codex: CodexAppServer | None = None
    headless: Headless | None = None
    local_interactive: LocalInteractive | None = None
    cao: Cao | None = None
    houmao_server: HoumaoServer | None = None

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION:
            raise ValueError(
                f"schema_version is {self.schema_version}, only {SCHEMA_VERSION} is read: start a new session"
            )
        self._check_identity()
        self._check_sections()
        self._check_agreement()

    def _check_identity(self) -> None:
        identity = (self.agent_name, self.agent_id, self.tmux_session_name)
        surface = (self.tmux, self.interactive, self.agent_launch_authority, self.gateway_authority)
        if self.backend in WITHOUT_TMUX:
            if any(part is not None for part in identity):
                raise ValueError(f"backend {self.backend} has no agent_name, agent_id or tmux_session_name")
        elif not all(identity):
            raise ValueError(f"backend {self.backend} needs agent_name, agent_id and tmux_session_name")
        elif any(part is None for part in surface):
            raise ValueError(
                f"backend {self.backend} needs tmux, interactive, agent_launch_authority "
                "and gateway_authority"
            )

    def _check_sections(self) -> None:
        sections = {
            "codex": self.codex,
            "headless": self.headless,
            "local_interactive": self.local_interactive,
            "cao": self.cao,
            "houmao_server": self.houmao_server,
        }
        wanted = section_of(self.backend)
        for name, section in sections.items():
            if (section is not None) != (name == wanted):
                raise ValueError(f"backend {self.backend} has the section {wanted} and no other")

    def _check_agreement(self) -> None:
        if (self.launch_plan.backend, self.launch_plan.tool) != (self.backend, self.tool):
            raise ValueError("launch_plan.backend and launch_plan.tool repeat backend and tool")
        if self.tmux is not None and self.tmux.session_name != self.tmux_session_name:
            raise ValueError("tmux.session_name repeats tmux_session_name")
        if self.registry_generation_id not in (None, self.runtime.registry_generation_id):
            raise ValueError("runtime.registry_generation_id repeats registry_generation_id")
        if self.registry_launch_authority != self.runtime.registry_launch_authority:
            raise ValueError("runtime.registry_launch_authority repeats registry_launch_authority")

    @property
    def is_headless(self) -> bool:
        return self.backend in HEADLESS

    @property
    def tool_version(self) -> str | None:
        """The CLI's version at launch, if known."""
        policy = self.launch_policy_provenance
        return None if policy is None else policy.detected_tool_version


def section_of(backend: Backend) -> str:
    """The backend's own section of the manifest."""
    if backend in HEADLESS:
        return "headless"
    return {
        "local_interactive": "local_interactive",
        "codex_app_server": "codex",
        "cao_rest": "cao",
        "houmao_server_rest": "houmao_server",
    }[backend]
