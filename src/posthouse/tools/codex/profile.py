"""The `Tool` adapter of Codex."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.terminal.screen import Screen, Surface
from posthouse.tools.codex import arguments, home, hooks, install, login, prompt_escaping, surface, transcript
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

_HOME_VARIABLE = "CODEX_HOME"
_HEADLESS_ASK_WARNING = (
    "headless codex can't ask for permission: with --permissions ask it only reads, and tools that write or "
    "need the network fail; `--permissions edits` allows edits in its folder"
)


class CodexTool:
    """OpenAI's Codex CLI."""

    name = "codex"
    home_variable = _HOME_VARIABLE
    headless_backend: Backend = "codex_headless"
    role_method: RoleMethod = "native_developer_instructions"
    reset_command = "/new"
    settle_seconds = 0.05
    #: Its hooks report successful turns only.
    evidence_rules = EvidenceRules(unreported_outcomes=frozenset({"interrupted", "error"}))

    def executable(self) -> str:
        return install.executable()

    def version(self) -> str | None:
        return install.version()

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        return login.account(user_home, variables)

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*.

        Raises:
            Unavailable: The CLI is missing or too old.
            InvalidInput: There is no login to use, or the home is where codex's sandbox breaks.
            Conflict: The home's configuration can't be read.
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
        return Program(
            argv=arguments.tui(self.executable(), launch, chat),
            environment={_HOME_VARIABLE: str(launch.home)},
        )

    def turn_program(self, launch: Launch, turn: HeadlessTurn) -> Program:
        return Program(
            argv=arguments.turn(self.executable(), launch, turn),
            environment={_HOME_VARIABLE: str(launch.home)},
            stdin=turn.prompt,
        )

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        return surface.read(screen)

    def escape_prompt(self, prompt: str) -> str:
        return prompt_escaping.escape(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        return transcript.newest(home, working_directory)

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        return transcript.exchanges(home, working_directory)


TOOL: Tool = CodexTool()
