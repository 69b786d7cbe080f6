"""The one place that reads the environment and constructs what commands work with."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.cli import options
from posthouse.cli.output import STYLES, Style
from posthouse.contracts import names, server_files
from posthouse.errors import InvalidInput

if TYPE_CHECKING:
    from posthouse.sessions.agents import Agents
    from posthouse.sessions.registry import Registry
    from posthouse.sessions.roots import Roots
    from posthouse.terminal.client import Placement, Server

_DEMO_SOCKET = "posthouse-demo"


class BadStyle(InvalidInput):
    """The environment asks for an output style that does not exist."""

    code = "bad_style"


class BadPort(InvalidInput):
    """The environment names a port that can't be one."""

    code = "bad_port"


class Wiring:
    """The surroundings of one command. Everything is built when it is first asked for."""

    def __init__(self, environment: Mapping[str, str], working_directory: Path) -> None:
        self.environment = environment
        self.working_directory = working_directory

    @classmethod
    def of_process(cls) -> "Wiring":
        """What this process was started with. Arms the crash point a test asked for."""
        if names.CRASH_AT in os.environ:
            from posthouse.support import crashpoints

            crashpoints.arm(os.environ[names.CRASH_AT])
        return cls(os.environ, _here(os.environ))

    @property
    def style(self) -> Style:
        """The output style the environment asks for.

        Raises:
            BadStyle: There is no such style.
        """
        asked = self.environment.get(names.PRINT_STYLE, "").strip().lower() or "plain"
        for style in STYLES:
            if style == asked:
                return style
        raise BadStyle(f"{names.PRINT_STYLE} is {asked!r}; it can be {', '.join(STYLES)}")

    def style_of(self, words: Sequence[str]) -> Style:
        """The style in which an error of the command *words* is told."""
        chosen, _ = options.take_style(words)
        try:
            return chosen or self.style
        except BadStyle:
            return "plain"

    @property
    def colour(self) -> bool:
        return not self.environment.get("NO_COLOR")

    @property
    def respects_proxy(self) -> bool:
        """Whether gateways are asked through the proxy that the environment names."""
        return self.environment.get(names.GATEWAY_RESPECT_PROXY, "").strip() == "1"

    @property
    def server_port(self) -> int:
        """Where the coordination server is, when nobody says otherwise.

        Raises:
            BadPort: The environment names none that can be one.
        """
        given = self.environment.get(names.SERVER_PORT, "").strip()
        if not given:
            return server_files.DEFAULT_PORT
        if not given.isascii() or not given.isdigit() or int(given) >= 1 << 16:
            raise BadPort(f"{names.SERVER_PORT} is {given!r}; it can be 0 to 65535")
        return int(given)

    @property
    def debug(self) -> bool:
        return self.environment.get(names.DEBUG, "") not in ("", "0")

    def prog(self, called_by: str) -> str:
        """How a person calls this program: by its own name, or through a script that says so."""
        return self.environment.get(names.PROGRAM, "").strip() or called_by

    @property
    def user_home(self) -> Path:
        """The person's own home folder."""
        return Path(self.environment.get("HOME", "").strip() or Path.home())

    @property
    def current_tmux(self) -> str | None:
        """The socket of the tmux server this command runs inside, or None."""
        return self.environment.get("TMUX", "").partition(",")[0] or None

    @cached_property
    def roots(self) -> "Roots":
        """Where state lives.

        Raises:
            BadRoot: A variable names a folder that can't be one.
        """
        from posthouse.sessions import roots

        return roots.resolve(self.environment, self.working_directory)

    @cached_property
    def registry(self) -> "Registry":
        from posthouse.sessions.registry import Registry

        return Registry(self.roots.registry)

    @cached_property
    def agents(self) -> "Agents":
        from posthouse.gateway_lifecycle.session_hooks import Companions
        from posthouse.sessions.agents import Agents

        return Agents(self.roots, self.registry, self._placement, Companions())

    @property
    def server(self) -> "Server":
        """The tmux server that agents share, and where sessions to join are looked for."""
        return self._placement.shared

    @property
    def _placement(self) -> "Placement":
        from posthouse.terminal.client import Placement

        return Placement.parse(self.environment.get(names.TMUX_SOCKET, ""))

    @property
    def demo_home(self) -> Path:
        """The folder that holds everything of the demo."""
        given = self.environment.get(names.STATE_HOME, "").strip()
        return Path(given).absolute() if given else self._state_home / "posthouse-demo"

    def for_demo(self) -> "Wiring":
        """The same surroundings with the demo's own roots, where they are not given already."""
        own = {
            names.REGISTRY_DIR: str(self.demo_home / "registry"),
            names.RUNTIME_DIR: str(self.demo_home / "runtime"),
            names.MAILBOX_DIR: str(self.demo_home / "mailbox"),
            names.TMUX_SOCKET: _DEMO_SOCKET,
        }
        if names.STATE_HOME in self.environment:
            own |= {name: self.environment[name] for name in own if self.environment.get(name)}
        return Wiring({**self.environment, **own}, self.working_directory)

    def demo_prefix(self, prog: str) -> str:
        """How a command that reaches the demo's agents starts."""
        if names.STATE_HOME in self.environment:
            return prog
        import shlex

        # The registry alone leads to the agents: their records name everything else.
        return f"{names.REGISTRY_DIR}={shlex.quote(str(self.demo_home / 'registry'))} {prog}"

    def demo_down(self, prog: str) -> str:
        """The command that ends the demo; the script that runs it has a shorter one."""
        return f"{prog} down" if names.STATE_HOME in self.environment else f"{prog} demo down"

    @property
    def _state_home(self) -> Path:
        given = self.environment.get("XDG_STATE_HOME", "").strip()
        return Path(given) if given.startswith("/") else self.user_home / ".local" / "state"


def _here(environment: Mapping[str, str]) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # Removed under the shell. Whoever needs a folder says that it is not there; the others work.
        return Path("/", environment.get("PWD", ""))
