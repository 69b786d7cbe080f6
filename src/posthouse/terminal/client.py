"""Commands for one tmux server, run as plain processes.

The only module that starts tmux. Every process gets `-u` (a title keeps its symbols under cron)
and a filtered environment, because the server inherits the environment of the process that starts it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from posthouse.errors import Unavailable
from posthouse.terminal import quoting

_INHERITED = frozenset(
    ("HOME", "PATH", "SHELL", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TMUX_TMPDIR")
)
_DESKTOP = frozenset(("DISPLAY", "WAYLAND_DISPLAY", "SSH_AUTH_SOCK"))
_INHERITED_PREFIXES = ("LC_", "XDG_")
#: A command without an answer within this time fails with `tmux_frozen`.
LIMIT_SECONDS = 5.0
_NO_SERVER = (
    *("no server running", "error connecting to", "server exited", "lost server"),
    # A server without sessions, about to exit.
    *("no sessions", "no current target", "no current session"),
)


class NoServer(Unavailable):
    """The server is not running, so none of its sessions exists."""

    code = "tmux_no_server"

    def __init__(self, server: "Server") -> None:
        super().__init__(f"{server} is not running")


class TmuxRefused(Unavailable):
    """tmux returned an error, which the message repeats."""

    code = "tmux_refused"

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"tmux {command}: {reason}")
        #: The error text that tmux printed.
        self.reason = reason

    @property
    def is_not_found(self) -> bool:
        return self.reason.startswith(("can't find", "no such session"))


@dataclass(frozen=True, slots=True)
class Server:
    """A tmux server. None: the user's default server; a name: `-L`; an absolute path: `-S`."""

    socket: str | None = None

    def arguments(self) -> tuple[str, ...]:
        """The tmux options that select this server. Only the user's default server reads a configuration."""
        if self.socket is None:
            # Explicit, because inside another server tmux would select that one.
            return ("-L", "default")
        return ("-S" if self.socket.startswith("/") else "-L", self.socket, "-f", "/dev/null")

    def __str__(self) -> str:
        return "the tmux server" if self.socket is None else f"the tmux server at {self.socket}"


DEFAULT_SERVER = Server()
#: The setting that gives each new agent its own tmux server, and the prefix of their names.
PER_AGENT = "per-agent"
_AGENT_SERVER_PREFIX = "posthouse-agent-"


@dataclass(frozen=True, slots=True)
class Placement:
    """Which tmux server a new agent starts on."""

    shared: Server = DEFAULT_SERVER
    #: Each agent gets its own server; `shared` is then only searched for sessions to join.
    is_per_agent: bool = False

    @classmethod
    def parse(cls, setting: str) -> "Placement":
        """Read the value of `POSTHOUSE_TMUX_SOCKET`: empty, `per-agent`, a name or an absolute path."""
        socket = setting.strip()
        return cls(is_per_agent=True) if socket == PER_AGENT else cls(Server(socket or None))

    def server_for(self, unique: str) -> Server:
        """The server for a new agent. *unique* must not be used for another agent."""
        return Server(f"{_AGENT_SERVER_PREFIX}{unique}") if self.is_per_agent else self.shared


def is_for_one_agent(server: Server) -> bool:
    """Whether *server* was made for one agent and can be removed when its session has ended."""
    return server.socket is not None and server.socket.startswith(_AGENT_SERVER_PREFIX)


class Tmux:
    """Commands for one server, each with a time limit."""

    def __init__(self, server: Server = DEFAULT_SERVER, *, timeout_seconds: float | None = None) -> None:
        self.server = server
        self._timeout_seconds = LIMIT_SECONDS if timeout_seconds is None else timeout_seconds

    def run(self, *command: str) -> str:
        """Run one command in its own process; its arguments are visible in `ps`.

        Returns its output without the final newline.

        Raises:
            NoServer, TmuxRefused: The command did not run.
            Unavailable: `tmux_missing`: it did not run. `tmux_frozen`: it may have run.
        """
        return self.run_all([command])

    def run_all(self, commands: Sequence[Sequence[str]]) -> str:
        """Run *commands* atomically and return their joined output.

        Stops at the first failure. Raises as `run` does.
        """
        words = [word for command in commands for word in (b";", *map(quoting.argument, command))]
        done = self._process(words[1:], b"")
        if done.returncode:
            raise tmux_error(self.server, commands[0][0], _text(done.stderr).strip())
        return _text(done.stdout).removesuffix("\n")

    def batch(
        self,
        session: str,
        commands: Sequence[Sequence[str]],
        *,
        before: Sequence[Sequence[str]] = (),
        after: Sequence[Sequence[str]] = (),
    ) -> list[str]:
        """Run *commands* through a socket, so that they do not show in `ps`. Returns their replies.

        Each command names its target, since tmux may run it before the client is attached. All commands
        run; the first failure is raised afterwards. Commands in *before* and *after* may fail, and their
        replies are omitted. Raises as `run` does.
        """
        from posthouse.terminal import control_script  # most commands never need a socket

        script = [*before, *commands, *after]
        replies = control_script.run(self.server, session, script, timeout_seconds=self._timeout_seconds)
        replies = replies[len(before) : len(before) + len(commands)]
        for command, reply in zip(commands, replies, strict=True):
            if reply.failed:
                raise tmux_error(self.server, command[0], reply.text)
        return [reply.text for reply in replies]

    def socket_path(self) -> str:
        """The path of the server's socket."""
        if self.server.socket is not None and self.server.socket.startswith("/"):
            return self.server.socket
        return self.run("display-message", "-p", "#{socket_path}")

    def _process(self, arguments: Sequence[bytes], script: bytes) -> subprocess.CompletedProcess[bytes]:
        with self._translated():
            return subprocess.run(
                [*map(quoting.argument, program(self.server)), *arguments],
                input=script,
                capture_output=True,
                timeout=self._timeout_seconds,
                env=client_environment(os.environ),
                check=False,
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except subprocess.TimeoutExpired:
            raise timeout_error(self.server, self._timeout_seconds) from None
        except (FileNotFoundError, PermissionError) as error:
            raise missing_error() from error


def program(server: Server) -> list[str]:
    """The start of every tmux command line."""
    return ["tmux", "-u", *server.arguments()]


def attach_command(session: str, *, output: bool) -> list[str]:
    """The first command of a control client.

    It changes neither the size of the agent's window nor the session's environment (`-E`). A reader
    that falls five seconds behind is paused instead of being served from a growing buffer.
    """
    flags = "pause-after=5,ignore-size" if output else "no-output,ignore-size"
    return ["attach-session", "-E", "-t", f"={session}", "-f", flags]


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The filtered environment of a tmux process. If it starts the server, every agent inherits this."""
    return {
        name: value
        for name, value in environment.items()
        if name in _INHERITED | _DESKTOP or name.startswith(_INHERITED_PREFIXES)
    }


def search_path() -> str:
    """The PATH for programs that we start: ours, with the folder of our own commands last.

    Agents run our commands by name, so their folder must be on the PATH.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = os.path.dirname(sys.executable)  # noqa: PTH120 - on the way of every command, pathlib costs more
    return os.pathsep.join(folders if own in folders else [*folders, own])


def tmux_error(server: Server, command: str, reason: str) -> NoServer | TmuxRefused:
    """The error for *reason*, the error text that tmux printed."""
    if reason.startswith(_NO_SERVER):
        return NoServer(server)
    return TmuxRefused(command, reason)


def missing_error() -> Unavailable:
    """tmux is not installed."""
    message = "tmux is not installed; get it with: sudo apt-get install -y tmux"
    return Unavailable(message, code="tmux_missing")


def timeout_error(server: Server, seconds: float) -> Unavailable:
    """The server did not answer in time. The command may have run."""
    message = f"{server} did not answer within {seconds:g} s; is it stopped or overloaded?"
    return Unavailable(message, code="tmux_frozen")


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")
