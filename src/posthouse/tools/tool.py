"""The contract of an agent CLI: everything that is particular to it and nothing else.

One folder per CLI implements it. Whoever drives an agent asks its `Tool` and never branches on
its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.errors import InvalidInput, Unavailable
from posthouse.terminal.screen import Screen, Surface


class ToolMissing(Unavailable):
    """The CLI is not installed; the message names the command that gets it."""

    code = "tool_missing"


class UnsupportedVersion(Unavailable):
    """The installed CLI is too old to be driven; the message names the command that updates it."""

    code = "unsupported_version"


class LoginMissing(InvalidInput):
    """The agent would have no account to work with; the message names the command that gets one."""

    code = "login_missing"


class UnsafePrompt(InvalidInput):
    """The CLI would not take this text as a prompt (it would run it, or swallow it)."""

    code = "unsafe_prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start. Nothing in it is secret."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Fed to stdin, which is then closed. None: stdin is empty.
    stdin: str | None = None


#: What the agent may do without asking: nothing, edit files, or everything.
Permissions = Literal["ask", "edits", "all"]
#: Whose account it works with: the person's existing login, a key in its variables, or none.
Login = Literal["inherit", "env", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The person's own login with one CLI, as far as files and variables tell."""

    #: For example `API key` or `subscription`; None when there is no login.
    kind: str | None
    #: Whether an agent can share it without logging its owner out.
    is_shareable: bool = False
    #: Whose it is, where that is told.
    owner: str | None = None
    #: The command that gets a login that can be shared.
    get_it: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a config home is prepared for."""

    home: Path
    working_directory: Path
    #: The person's own home folder, where an existing login lies.
    user_home: Path
    permissions: Permissions = "ask"
    login: Login = "inherit"
    is_headless: bool = False
    #: Where hooks leave their reports; None: no hooks.
    spool: Path | None = None
    #: What the program will be given beside its own. Values are looked at, never written.
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One event that a hook of the CLI reported."""

    event: str
    at_utc: str
    payload: Mapping[str, Any]


#: What a hook's report means for the turn.
Meaning = Literal["submitted", "ended", "failed", "asking"]


#: Who can tell of a turn: the CLI's hooks, its transcript, the terminal's title, the rest of the screen.
Witness = Literal["hook", "transcript", "title", "screen"]
Ending = Literal["success", "interrupted", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Testimony:
    """Which evidence counts for one CLI, and which silence is its habit and no contradiction."""

    #: Who proves that a turn began, before the screen shows it.
    starts: frozenset[Witness] = frozenset({"hook", "title", "screen"})
    #: Who proves that it is over.
    ends: frozenset[Witness] = frozenset({"hook", "transcript", "title", "screen"})
    #: Who proves that it waits for a person.
    blocks: frozenset[Witness] = frozenset({"hook", "screen"})
    #: Endings after which no hook says a word.
    silent_endings: frozenset[Ending] = frozenset({"interrupted"})
    #: Whether a hook that says `ended` means that it went well.
    end_means_success: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One prepared agent, as every start of its program sees it."""

    home: Path
    working_directory: Path
    role_name: str
    role_text: str = ""
    model: str | None = None
    reasoning_level: int | None = None
    #: The user's own arguments, kept verbatim.
    args: tuple[str, ...] = ()
    permissions: Permissions = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Which of the provider's conversations a start continues."""

    mode: Literal["new", "latest", "exact"] = "new"
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOrder:
    """One headless turn, with the overrides that hold for it alone."""

    prompt: str
    chat: Chat = Chat()
    model: str | None = None
    reasoning_level: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a record stands in the agent's own transcript."""

    #: The file's name, which has the conversation's id in it.
    file: str
    #: The byte where its line begins.
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One prompt in the agent's own transcript and what became of it."""

    prompt: str
    submitted_at_utc: str
    #: None while the turn runs.
    answer: str | None = None
    outcome: Literal["success", "interrupted", "error"] | None = None
    #: The tokens of the turn that the prompt began; None for one that joined a turn, and where none are told.
    usage: Mapping[str, int] | None = None
    #: Of the prompt's own record.
    place: Place | None = None


class Tool(Protocol):
    """One agent CLI."""

    @property
    def name(self) -> str: ...
    @property
    def home_variable(self) -> str:
        """The variable that points the CLI at its config home."""

    @property
    def headless_backend(self) -> Backend: ...
    @property
    def role_method(self) -> RoleMethod: ...
    @property
    def reset_command(self) -> str:
        """What a person types to start a fresh conversation in the TUI."""

    @property
    def settle_seconds(self) -> float:
        """How long after a paste the TUI ignores Enter."""

    @property
    def testimony(self) -> Testimony:
        """What its hooks, transcript, title and screen can be believed to tell."""

    def executable(self) -> str:
        """The program's absolute path.

        Raises:
            ToolMissing: It is not installed.
        """

    def version(self) -> str | None:
        """The installed version, read without running the program."""

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        """The person's own login. Reads files only."""

    def check(self, setup: Setup) -> Sequence[str]:
        """Warnings about a launch with *setup*, from static checks that take well under a second.

        Raises:
            ToolMissing, UnsupportedVersion, LoginMissing: It can't work.
        """

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        """Make the home ready: onboarding, trust, titles, hooks, login. A second call changes nothing.

        Returns variables, possibly secret, that an inherited login adds to the program's own.
        """

    def skills_folder(self, home: Path) -> Path:
        """Where in *home* the CLI looks for skills, a folder for each."""

    def meaning(self, report: Report) -> Meaning | None:
        """What a hook's report says about the turn; None when it says nothing. Pure."""

    def submitted_prompt(self, report: Report) -> str | None:
        """The prompt that a `submitted` report is about, where the hook tells it. Pure."""

    def tui_program(self, launch: Launch, chat: Chat) -> Program: ...

    def turn_program(self, launch: Launch, turn: TurnOrder) -> Program: ...

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        """What one capture of the TUI means, by what is known of this *version*, or of the newest. Pure."""

    def guard(self, prompt: str) -> str:
        """The text to paste so that the CLI takes *prompt* as a prompt.

        Raises:
            UnsafePrompt: There is no such text.
        """

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        """The file that `exchanges` reads now; None while there is none."""

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        """The newest conversation in the agent's own transcript, oldest first; empty without one."""
