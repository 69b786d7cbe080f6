"""Reads the environment and constructs the dependencies of commands. The only module that does."""

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


class Wiring:
    """The dependencies of one command, each constructed on first use."""

    def __init__(self, environment: Mapping[str, str], working_directory: Path) -> None:
        self.environment = environment
        self.working_directory = working_directory

    @classmethod
    def of_process(cls) -> "Wiring":
        """The wiring of this process. Arms the crash point that a test asked for."""
        if names.CRASH_AT in os.environ:
            from posthouse.support import crashpoints

            crashpoints.arm(os.environ[names.CRASH_AT])
        return cls(os.environ, _working_directory(os.environ))

    @property
    def style(self) -> Style:
        """The output style set in the environment.

        Raises:
            InvalidInput: There is no such style.
        """
        given = self.environment.get(names.PRINT_STYLE, "").strip().lower() or "plain"
        for style in STYLES:
            if style == given:
                return style
        raise InvalidInput(
            f"invalid {names.PRINT_STYLE} {given!r}: use {', '.join(STYLES)}", code="bad_style"
        )

    def style_of(self, words: Sequence[str]) -> Style:
        """The style for errors of the command *words*."""
        chosen, _ = options.take_style(words)
        try:
            return chosen or self.style
        except InvalidInput:
            return "plain"

    @property
    def colour(self) -> bool:
        return not self.environment.get("NO_COLOR")

    @property
    def respects_proxy(self) -> bool:
        """Whether requests to gateways use the proxy set in the environment."""
        return self.environment.get(names.GATEWAY_RESPECT_PROXY, "").strip() == "1"

    @property
    def server_port(self) -> int:
        """The default port of the coordination server.

        Raises:
            InvalidInput: The environment names an invalid port.
        """
        given = self.environment.get(names.SERVER_PORT, "").strip()
        if not given:
            return server_files.DEFAULT_PORT
        if not given.isascii() or not given.isdigit() or int(given) >= 1 << 16:
            raise InvalidInput(f"invalid {names.SERVER_PORT} {given!r}: must be 0 to 65535", code="bad_port")
        return int(given)

    @property
    def debug(self) -> bool:
        return self.environment.get(names.DEBUG, "") not in ("", "0")

    def prog(self, called_by: str) -> str:
        """The program name for messages: the name of a wrapper script if the environment has one."""
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
        """The folders that hold state.

        Raises:
            InvalidInput: A variable names an unusable folder.
        """
        from posthouse.sessions import roots

        return roots.resolve(self.environment, self.working_directory)

    @cached_property
    def registry(self) -> "Registry":
        from posthouse.sessions.registry import Registry

        return Registry(self.roots.registry)

    @cached_property
    def agents(self) -> "Agents":
        from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
        from posthouse.sessions.agents import Agents

        return Agents(self.roots, self.registry, self._placement, GatewaySessionHooks())

    @property
    def server(self) -> "Server":
        """The tmux server that agents share. Sessions to join are looked up there."""
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
        """A copy that uses the demo's own roots, unless they are set already."""
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
        """The prefix of a command that addresses the demo's agents."""
        if names.STATE_HOME in self.environment:
            return prog
        import shlex

        # The registry is enough: the agents' records name everything else.
        return f"{names.REGISTRY_DIR}={shlex.quote(str(self.demo_home / 'registry'))} {prog}"

    def demo_down(self, prog: str) -> str:
        """The command that stops the demo; a wrapper script has a shorter one."""
        return f"{prog} down" if names.STATE_HOME in self.environment else f"{prog} demo down"

    @property
    def _state_home(self) -> Path:
        given = self.environment.get("XDG_STATE_HOME", "").strip()
        return Path(given) if given.startswith("/") else self.user_home / ".local" / "state"


def _working_directory(environment: Mapping[str, str]) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The folder was removed under the shell. Only commands that need it fail.
        return Path("/", environment.get("PWD", ""))
