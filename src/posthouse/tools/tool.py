"""The contract of an agent CLI: everything that is particular to it and nothing else.

One folder per CLI implements it. Whoever drives an agent asks its `Tool` and never branches on
its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.errors import InvalidInput, Unavailable
from posthouse.terminal.screen import Screen, Surface


class ToolMissing(Unavailable):
    """The CLI is not installed; the message names the command that gets it."""

    code = "tool_missing"


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
class Exchange:
    """One prompt in the agent's own transcript and what became of it."""

    prompt: str
    submitted_at_utc: str
    #: None while the turn runs.
    answer: str | None = None
    outcome: Literal["success", "interrupted", "error"] | None = None


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

    def executable(self) -> str:
        """The program's absolute path.

        Raises:
            ToolMissing: It is not installed.
        """

    def version(self) -> str | None:
        """The installed version, read without running the program."""

    def prepare_home(self, home: Path, working_directory: Path) -> None:
        """Make *home* ready for unattended use. A second call changes nothing."""

    def tui_program(self, launch: Launch, chat: Chat) -> Program: ...

    def turn_program(self, launch: Launch, turn: TurnOrder) -> Program: ...

    def read_surface(self, screen: Screen) -> Surface:
        """What one capture of the TUI means. Pure."""

    def guard(self, prompt: str) -> str:
        """The text to paste so that the CLI takes *prompt* as a prompt.

        Raises:
            UnsafePrompt: There is no such text.
        """

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        """The newest conversation in the agent's own transcript, oldest first; empty without one."""
