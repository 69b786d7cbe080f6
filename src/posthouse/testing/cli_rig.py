"""One real CLI in folders of its own, that talks to a scripted model API: what its rigs have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from posthouse.support import files
from posthouse.terminal.client import Server
from posthouse.testing import clis
from posthouse.testing.model_api import ModelApi
from posthouse.testing.waiting import wait_for
from posthouse.tools import spool
from posthouse.tools.tool import Exchange, HookReport, Launch, Permissions, Program, Setup, Tool, TurnSignal

#: The tmux session that the CLI runs in.
SESSION = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a CLI runs, and whom it talks to."""

    folder: Path
    server: Server
    api: ModelApi

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def where(self) -> Path:
        """Its working directory."""
        return self.folder / "proj"

    @property
    def spool(self) -> Path:
        return self.folder / "hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which CLI, with what it needs to be itself offline."""

    tool: Tool
    launch: Launch
    #: What it is given as a person's own secrets.
    secrets: Mapping[str, str]
    #: What only the preparation of its home looks at.
    home_variables: Mapping[str, str] = field(default_factory=dict)
    #: What it is given beside its program's variables.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: The model of each headless turn that does not wish for another.
    turn_model: str | None = None


class CliAgent:
    """One CLI with its home, its project and the reports of its hooks."""

    def __init__(self, place: Place, subject: Subject) -> None:
        self.place, self.subject, self.tool = place, subject, subject.tool
        self.api, self.home, self.where, self.spool = place.api, place.home, place.where, place.spool
        self.where.mkdir()
        self.spool.mkdir()

    def prepare_home(self, permissions: Permissions, *, is_headless: bool) -> None:
        """Make the home as a launch does."""
        setup = Setup(
            home=self.home,
            working_directory=self.where,
            user_home=self.place.folder,
            permissions=permissions,
            login="env",
            is_headless=is_headless,
            spool=self.spool,
            variables={**self.subject.secrets, **self.subject.home_variables},
        )
        self.tool.check(setup)
        self.tool.prepare_home(setup)

    def environment(self, program: Program) -> dict[str, str]:
        """What *program* is given beside the secrets: its own variables, and no way to a network."""
        return {
            **program.environment,
            **clis.NO_NETWORK,
            "HOME": str(self.place.folder),
            **self.subject.environment,
        }

    def variables_file(self) -> Path:
        """The file that gives its program the secrets."""
        path = self.place.folder / "launch-env.json"
        files.write_json(path, self.subject.secrets, durable=False)
        return path

    def exchanges(self) -> list[Exchange]:
        return list(self.tool.exchanges(self.home, self.where))

    def reports(self) -> list[HookReport]:
        return [report for _, report in spool.read(self.spool)]

    def meanings(self) -> list[TurnSignal | None]:
        return [self.tool.turn_signal(report) for report in self.reports()]

    def prompts(self) -> list[str]:
        """What the model was really asked, in order."""
        return [asked.prompt for asked in self.api.main_records()]

    def wait(self, is_true: Callable[[], bool]) -> None:
        """Wait for a condition."""
        wait_for(is_true)
