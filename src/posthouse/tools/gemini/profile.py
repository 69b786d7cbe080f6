"""Gemini CLI for whoever drives it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.terminal.screen import Screen, Surface
from posthouse.tools.gemini import arguments, home, install, login, surface, transcript
from posthouse.tools.gemini.prompt_escaping import guard
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

_DENIED: Mapping[str, str] = {
    "ask": "a headless gemini asks nobody: with --permissions ask it reads, and is not even offered the "
    "tools that edit or run something; `--permissions edits` lets it edit, `all` run commands too",
    "edits": "a headless gemini asks nobody: with --permissions edits it edits files, and is not even "
    "offered the tool that runs commands; `--permissions all` lets it",
}


class GeminiTool:
    """Google's Gemini CLI."""

    name = "gemini"
    home_variable = home.HOME_VARIABLE
    headless_backend: Backend = "gemini_headless"
    role_method: RoleMethod = "bootstrap_message"
    reset_command = "/clear"
    #: For 40 ms after a paste an Enter is a newline; slow machines count from when they get to it.
    settle_seconds = 0.25
    #: Its hook says the same after each ending, and always says it.
    testimony = Testimony(silent_endings=frozenset(), end_means_success=False)

    def executable(self) -> str:
        return install.executable()

    def version(self) -> str | None:
        return install.version()

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        return login.account(user_home, variables)

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*.

        Raises:
            BadSettings, LoginMissing, ToolMissing, UnsupportedVersion: It can't work.
        """
        install.require()
        login.inherited(setup)
        home.read_settings(setup.home)
        denied = _DENIED.get(setup.permissions) if setup.is_headless else None
        return (denied,) if denied else ()

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        return home.prepare(setup)

    def skills_folder(self, home: Path) -> Path:
        return home / ".gemini" / "skills"

    def meaning(self, report: Report) -> Meaning | None:
        return home.MEANINGS.get(report.event)

    def submitted_prompt(self, report: Report) -> str | None:
        prompt = report.payload.get("prompt")
        return prompt if report.event == "BeforeAgent" and isinstance(prompt, str) else None

    def tui_program(self, launch: Launch, chat: Chat) -> Program:
        return Program(
            argv=(*install.command(), *arguments.tui_arguments(launch, chat)),
            environment={**home.environment(launch.home), **arguments.thinking_variables(launch)},
        )

    def turn_program(self, launch: Launch, turn: TurnOrder) -> Program:
        return Program(
            argv=(*install.command(), *arguments.turn_arguments(launch, turn)),
            environment={**home.environment(launch.home), **arguments.thinking_variables(launch, turn)},
            stdin=arguments.turn_stdin(launch, turn),
        )

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        return surface.read(screen)

    def guard(self, prompt: str) -> str:
        return guard(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        return transcript.newest(home, working_directory)

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        return transcript.exchanges(home, working_directory)


TOOL: Tool = GeminiTool()
