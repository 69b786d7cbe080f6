"""The `Tool` adapter of Gemini CLI."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.terminal.screen import Screen, Surface
from posthouse.tools.gemini import arguments, home, install, login, surface, transcript
from posthouse.tools.gemini.prompt_escaping import escape
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

_HEADLESS_WARNINGS: Mapping[str, str] = {
    "ask": "headless gemini can't ask for permission: with --permissions ask it only reads and is not "
    "offered the tools that edit or run something; `--permissions edits` allows edits, `all` also commands",
    "edits": "headless gemini can't ask for permission: with --permissions edits it edits files and is not "
    "offered the tool that runs commands; `--permissions all` allows them",
}


class GeminiTool:
    """Google's Gemini CLI."""

    name = "gemini"
    home_variable = home.HOME_VARIABLE
    headless_backend: Backend = "gemini_headless"
    role_method: RoleMethod = "bootstrap_message"
    reset_command = "/clear"
    #: For 40 ms after a paste, Enter is a newline; a slow machine starts counting late.
    settle_seconds = 0.25
    #: Its hook fires after every outcome and does not distinguish them.
    evidence_rules = EvidenceRules(unreported_outcomes=frozenset(), end_implies_success=False)

    def executable(self) -> str:
        return install.executable()

    def version(self) -> str | None:
        return install.version()

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        return login.account(user_home, variables)

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*.

        Raises:
            Unavailable: The CLI or Node is missing or too old.
            InvalidInput: There is no login to use.
            BadSettings: The home's settings can't be read.
        """
        install.require_supported()
        login.login_variables(setup)
        home.read_settings(setup.home)
        warning = _HEADLESS_WARNINGS.get(setup.permissions) if setup.is_headless else None
        return (warning,) if warning else ()

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        return home.prepare(setup)

    def skills_folder(self, home: Path) -> Path:
        return home / ".gemini" / "skills"

    def turn_signal(self, report: HookReport) -> TurnSignal | None:
        return home.TURN_SIGNALS.get(report.event)

    def submitted_prompt(self, report: HookReport) -> str | None:
        prompt = report.payload.get("prompt")
        return prompt if report.event == "BeforeAgent" and isinstance(prompt, str) else None

    def tui_program(self, launch: Launch, chat: Chat) -> Program:
        return Program(
            argv=(*install.command(), *arguments.tui_arguments(launch, chat)),
            environment={**home.environment(launch.home), **arguments.thinking_variables(launch)},
        )

    def turn_program(self, launch: Launch, turn: HeadlessTurn) -> Program:
        return Program(
            argv=(*install.command(), *arguments.turn_arguments(launch, turn)),
            environment={**home.environment(launch.home), **arguments.thinking_variables(launch, turn)},
            stdin=arguments.turn_stdin(launch, turn),
        )

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        return surface.read(screen)

    def escape_prompt(self, prompt: str) -> str:
        return escape(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        return transcript.newest(home, working_directory)

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        return transcript.exchanges(home, working_directory)


TOOL: Tool = GeminiTool()
