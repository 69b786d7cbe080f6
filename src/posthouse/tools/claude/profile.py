"""Claude Code for whoever drives it."""

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
    Exchange,
    Launch,
    Meaning,
    Program,
    Report,
    Setup,
    Testimony,
    Tool,
    TurnOrder,
)

_DENIES_ALL = (
    "a headless claude asks nobody: with --permissions ask every tool that writes, runs or fetches something "
    "is denied, and the turn still succeeds; `--permissions edits` or `all` lets it work"
)


class ClaudeTool:
    """Anthropic's Claude Code."""

    name = "claude"
    home_variable = login.HOME_VARIABLE
    headless_backend: Backend = "claude_headless"
    role_method: RoleMethod = "native_append_system_prompt"
    reset_command = "/clear"
    settle_seconds = 0.05
    #: An interrupted turn ends without a word of a hook; a failed one has a hook of its own.
    testimony = Testimony()

    def executable(self) -> str:
        return install.executable()

    def version(self) -> str | None:
        return install.version()

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        """The person's own login; files that can't be read tell of none."""
        try:
            return login.find(user_home, variables).account
        except BadSettings:
            return Account(kind=None, get_it=login.GET_IT)

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*.

        Raises:
            ToolMissing, UnsupportedVersion, LoginMissing: It can't work.
            BadSettings: The home's settings, or the person's own, can't be read.
        """
        install.executable()
        install.require_supported(install.version())
        home.check(setup)
        return (_DENIES_ALL,) if setup.is_headless and setup.permissions == "ask" else ()

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        return home.prepare(setup)

    def skills_folder(self, home: Path) -> Path:
        return home / "skills"

    def meaning(self, report: Report) -> Meaning | None:
        return hooks.MEANINGS.get(report.event)

    def submitted_prompt(self, report: Report) -> str | None:
        prompt = report.payload.get("prompt")
        return prompt if isinstance(prompt, str) else None

    def tui_program(self, launch: Launch, chat: Chat) -> Program:
        return Program(argv=arguments.tui(self.executable(), launch, chat), environment=_environment(launch))

    def turn_program(self, launch: Launch, turn: TurnOrder) -> Program:
        return Program(
            argv=arguments.turn(self.executable(), launch, turn),
            environment=_environment(launch),
            stdin=turn.prompt,
        )

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        return surface.read(screen, version)

    def guard(self, prompt: str) -> str:
        return prompt_escaping.guard(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        return transcript.newest(home, working_directory)

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        return transcript.exchanges(home, working_directory)


def _environment(launch: Launch) -> dict[str, str]:
    environment = {login.HOME_VARIABLE: str(launch.home)}
    if launch.permissions == "all" and os.geteuid() == 0:
        # It refuses root all permissions unless it is told that nothing can be harmed.
        environment["IS_SANDBOX"] = "1"
    return environment


TOOL: Tool = ClaudeTool()
