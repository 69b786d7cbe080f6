"""The `Tool` adapter of Claude Code."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.terminal.screen import Screen, Surface
from posthouse.tools.claude import (
    arguments,
    home,
    hooks,
    install,
    login,
    prompt_escaping,
    surface,
    transcript,
)
from posthouse.tools.settings import BadSettings
from posthouse.tools.tool import (
    Account,
    Chat,
    EvidenceRules,
    Exchange,
    HeadlessTurn,
    HookReport,
    Launch,
    Program,
    Setup,
    Tool,
    TurnSignal,
)

_HEADLESS_ASK_WARNING = (
    "headless claude can't ask for permission: with --permissions ask every tool that writes, runs or "
    "fetches something is denied, and the turn still succeeds; `--permissions edits` or `all` allows them"
)


class ClaudeTool:
    """Anthropic's Claude Code."""

    name = "claude"
    home_variable = login.HOME_VARIABLE
    headless_backend: Backend = "claude_headless"
    role_method: RoleMethod = "native_append_system_prompt"
    reset_command = "/clear"
    settle_seconds = 0.05
    #: No hook reports an interrupted turn; a failed one has a separate hook.
    evidence_rules = EvidenceRules()

    def executable(self) -> str:
        return install.executable()

    def version(self) -> str | None:
        return install.version()

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        """The user's own login; none if the files can't be read."""
        try:
            return login.find(user_home, variables).account
        except BadSettings:
            return Account(kind=None, login_command=login.TOKEN_COMMAND)

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*.

        Raises:
            Unavailable: The CLI is missing or too old.
            InvalidInput: There is no login to use.
            BadSettings: Settings of the home or the user can't be read.
        """
        install.executable()
        install.require_supported(install.version())
        home.check(setup)
        return (_HEADLESS_ASK_WARNING,) if setup.is_headless and setup.permissions == "ask" else ()

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        return home.prepare(setup)

    def skills_folder(self, home: Path) -> Path:
        return home / "skills"

    def turn_signal(self, report: HookReport) -> TurnSignal | None:
        return hooks.TURN_SIGNALS.get(report.event)

    def submitted_prompt(self, report: HookReport) -> str | None:
        prompt = report.payload.get("prompt")
        return prompt if isinstance(prompt, str) else None

    def tui_program(self, launch: Launch, chat: Chat) -> Program:
        return Program(argv=arguments.tui(self.executable(), launch, chat), environment=_environment(launch))

    def turn_program(self, launch: Launch, turn: HeadlessTurn) -> Program:
        return Program(
            argv=arguments.turn(self.executable(), launch, turn),
            environment=_environment(launch),
            stdin=turn.prompt,
        )

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        return surface.read(screen, version)

    def escape_prompt(self, prompt: str) -> str:
        return prompt_escaping.escape(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        return transcript.newest(home, working_directory)

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        return transcript.exchanges(home, working_directory)


def _environment(launch: Launch) -> dict[str, str]:
    environment = {login.HOME_VARIABLE: str(launch.home)}
    if launch.permissions == "all" and os.geteuid() == 0:
        # As root it refuses all permissions unless this variable declares a sandbox.
        environment["IS_SANDBOX"] = "1"
    return environment


TOOL: Tool = ClaudeTool()
