"""The interface of an agent CLI: everything that is specific to one.

One folder per CLI implements it. Callers ask the agent's `Tool` and never branch on its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.errors import InvalidInput, Unavailable
from posthouse.terminal.screen import Screen, Surface


def tool_missing(message: str) -> Unavailable:
    """The CLI is not installed; *message* names the command that installs it."""
    return Unavailable(message, code="tool_missing")


def unsupported_version(message: str) -> Unavailable:
    """The installed CLI is too old; *message* names the command that updates it."""
    return Unavailable(message, code="unsupported_version")


def login_missing(message: str) -> InvalidInput:
    """The agent would have no account; *message* names the command that creates one."""
    return InvalidInput(message, code="login_missing")


def unsafe_prompt(message: str) -> InvalidInput:
    """The CLI would not read this text as a prompt (it would run or drop it)."""
    return InvalidInput(message, code="unsafe_prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The process to start. Contains no secrets."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Written to stdin, which is then closed. None: empty stdin.
    stdin: str | None = None


#: What the agent may do without asking: nothing, edit files, or everything.
Permissions = Literal["ask", "edits", "all"]
#: The account it uses: the user's existing login, a key in its variables, or none.
LoginMode = Literal["inherit", "env", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user's own login with one CLI, as found in files and variables."""

    #: For example `API key` or `subscription`; None when there is no login.
    kind: str | None
    #: Whether an agent can share it without logging its owner out.
    is_shareable: bool = False
    #: The account's owner, if known.
    owner: str | None = None
    #: The command that creates a shareable login.
    login_command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The launch that a config home is prepared for."""

    home: Path
    working_directory: Path
    #: The user's own home folder, which may hold an existing login.
    user_home: Path
    permissions: Permissions = "ask"
    login: LoginMode = "inherit"
    is_headless: bool = False
    #: Folder for hook reports; None: no hooks.
    spool: Path | None = None
    #: Additional variables of the program. Values are read, never written to disk.
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookReport:
    """One event reported by a hook of the CLI."""

    event: str
    at_utc: str
    payload: Mapping[str, Any]


#: The turn event that a hook report stands for.
TurnSignal = Literal["submitted", "ended", "failed", "asking"]


#: Sources of evidence about a turn: the CLI's hooks, its transcript, the terminal title, the screen text.
EvidenceSource = Literal["hook", "transcript", "title", "screen"]
FinalOutcome = Literal["success", "interrupted", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRules:
    """Which evidence counts for one CLI, and which missing hooks are normal."""

    #: Sources that prove a turn's start, before the screen shows it.
    starts: frozenset[EvidenceSource] = frozenset({"hook", "title", "screen"})
    #: Sources that prove its end.
    ends: frozenset[EvidenceSource] = frozenset({"hook", "transcript", "title", "screen"})
    #: Sources that prove it waits for user input.
    blocks: frozenset[EvidenceSource] = frozenset({"hook", "screen"})
    #: Outcomes without a hook report.
    unreported_outcomes: frozenset[FinalOutcome] = frozenset({"interrupted"})
    #: Whether a hook's `ended` implies success.
    end_implies_success: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One prepared agent; the same for every start of its program."""

    home: Path
    working_directory: Path
    role_name: str
    role_text: str = ""
    model: str | None = None
    reasoning_level: int | None = None
    #: The user's arguments, verbatim.
    args: tuple[str, ...] = ()
    permissions: Permissions = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """The provider conversation that a start continues."""

    mode: Literal["new", "latest", "exact"] = "new"
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessTurn:
    """One headless turn, with the overrides for this turn only."""

    prompt: str
    chat: Chat = Chat()
    model: str | None = None
    reasoning_level: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPosition:
    """The position of a record in the agent's own transcript."""

    #: The file name, which contains the conversation id.
    file: str
    #: The byte offset of its line.
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One prompt in the agent's own transcript, with its answer and outcome."""

    prompt: str
    submitted_at_utc: str
    #: None while the turn runs.
    answer: str | None = None
    outcome: Literal["success", "interrupted", "error"] | None = None
    #: Tokens of the turn that the prompt started; None if it joined a running turn or none were reported.
    usage: Mapping[str, int] | None = None
    #: Position of the prompt's record.
    position: TranscriptPosition | None = None


class Tool(Protocol):
    """One agent CLI."""

    @property
    def name(self) -> str: ...
    @property
    def home_variable(self) -> str:
        """The environment variable with the CLI's config home."""

    @property
    def headless_backend(self) -> Backend: ...
    @property
    def role_method(self) -> RoleMethod: ...
    @property
    def reset_command(self) -> str:
        """The TUI command that starts a new conversation."""

    @property
    def settle_seconds(self) -> float:
        """How long the TUI ignores Enter after a paste."""

    @property
    def evidence_rules(self) -> EvidenceRules:
        """How far its hooks, transcript, title and screen count as evidence."""

    def executable(self) -> str:
        """The program's absolute path.

        Raises:
            Unavailable: It is not installed.
        """

    def version(self) -> str | None:
        """The installed version, read without running the program."""

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        """The user's own login. Reads files only."""

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*, from static checks (well under a second).

        Raises:
            Unavailable: The CLI is missing or too old.
            InvalidInput: There is no login to use.
        """

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        """Configure the home: onboarding, trust, titles, hooks, login. Idempotent.

        Returns the variables, possibly secret, that an inherited login adds to the program's environment.
        """

    def skills_folder(self, home: Path) -> Path:
        """The folder in *home* where the CLI looks for skills, one subfolder each."""

    def turn_signal(self, report: HookReport) -> TurnSignal | None:
        """The turn event that *report* stands for; None if it has no meaning for the turn. Pure."""

    def submitted_prompt(self, report: HookReport) -> str | None:
        """The prompt of a `submitted` report, if the hook includes it. Pure."""

    def tui_program(self, launch: Launch, chat: Chat) -> Program: ...

    def turn_program(self, launch: Launch, turn: HeadlessTurn) -> Program: ...

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        """The TUI state in one capture, by the pack for *version* or the newest one. Pure."""

    def escape_prompt(self, prompt: str) -> str:
        """The text to paste so that the CLI reads *prompt* as a prompt.

        Raises:
            InvalidInput: No text does that.
        """

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        """The file that `exchanges` reads now; None if there is none."""

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        """The newest conversation in the agent's own transcript, oldest first; empty if there is none."""
