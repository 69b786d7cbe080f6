"""One tmux server, asked by plain processes.

The only module that starts tmux. Every process gets `-u` (a title keeps its symbols under cron)
and an environment of its own choosing, because whoever starts the server gives it everything.
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
#: A server that does not answer for so long is called frozen.
LIMIT_SECONDS = 5.0
_NO_SERVER = (
    *("no server running", "error connecting to", "server exited", "lost server"),
    # What a server says that lost its last session and is about to leave.
    *("no sessions", "no current target", "no current session"),
)


class TmuxMissing(Unavailable):
    """tmux is not installed."""

    code = "tmux_missing"

    def __init__(self) -> None:
        super().__init__("tmux is not installed; get it with: sudo apt-get install -y tmux")


class TmuxFrozen(Unavailable):
    """The server did not answer in time. Whether it did what was asked is not known."""

    code = "tmux_frozen"

    def __init__(self, server: "Server", seconds: float) -> None:
        super().__init__(f"{server} did not answer within {seconds:g} s; is it stopped or overloaded?")


class NoServer(Unavailable):
    """Nothing listens there, so no session of that server exists."""

    code = "tmux_no_server"

    def __init__(self, server: "Server") -> None:
        super().__init__(f"{server} is not running")


class TmuxRefused(Unavailable):
    """tmux answered with an error, which the message repeats."""

    code = "tmux_refused"

    def __init__(self, command: str, words: str) -> None:
        super().__init__(f"tmux {command}: {words}")
        #: What tmux said.
        self.words = words

    @property
    def is_not_found(self) -> bool:
        return self.words.startswith(("can't find", "no such session"))


@dataclass(frozen=True, slots=True)
class Server:
    """Which tmux server. None is the user's own, a name stands for `-L`, an absolute path for `-S`."""

    socket: str | None = None

    def arguments(self) -> tuple[str, ...]:
        """How a tmux process is told. Only the user's own server reads a configuration."""
        if self.socket is None:
            # Named, because inside another server tmux would take that one.
            return ("-L", "default")
        return ("-S" if self.socket.startswith("/") else "-L", self.socket, "-f", "/dev/null")

    def __str__(self) -> str:
        return "the tmux server" if self.socket is None else f"the tmux server at {self.socket}"


USERS_OWN = Server()
#: The setting with which each new agent gets a tmux server of its own, and what their names begin with.
PER_AGENT = "per-agent"
_OWN_SERVER_PREFIX = "posthouse-agent-"


@dataclass(frozen=True, slots=True)
class Placement:
    """Which tmux server a new agent starts on."""

    shared: Server = USERS_OWN
    #: Each agent gets a server of its own instead; `shared` is then where sessions to join are looked for.
    is_per_agent: bool = False

    @classmethod
    def parse(cls, setting: str) -> "Placement":
        """Read the value of `POSTHOUSE_TMUX_SOCKET`: empty, `per-agent`, a name or an absolute path."""
        socket = setting.strip()
        return cls(is_per_agent=True) if socket == PER_AGENT else cls(Server(socket or None))

    def server_for(self, unique: str) -> Server:
        """The server for a new agent; *unique* is used for no other."""
        return Server(f"{_OWN_SERVER_PREFIX}{unique}") if self.is_per_agent else self.shared


def is_for_one_agent(server: Server) -> bool:
    """Whether *server* was made for one agent, and is of no use when its session has ended."""
    return server.socket is not None and server.socket.startswith(_OWN_SERVER_PREFIX)


class Tmux:
    """Commands for one server, each answered or failed within the time limit."""

    def __init__(self, server: Server = USERS_OWN, *, timeout_seconds: float | None = None) -> None:
        self.server = server
        self._timeout_seconds = LIMIT_SECONDS if timeout_seconds is None else timeout_seconds

    def run(self, *command: str) -> str:
        """Run one command by a process of its own; its arguments are visible in `ps`.

        Returns what it printed, without the final newline.

        Raises:
            TmuxMissing, NoServer, TmuxRefused: Nothing was done.
            TmuxFrozen: It may have been done.
        """
        return self.run_all([command])

    def run_all(self, commands: Sequence[Sequence[str]]) -> str:
        """Run *commands* as one step that nothing can come between; what they printed, joined.

        The first that fails ends it. Raises as `run` does.
        """
        words = [word for command in commands for word in (b";", *map(quoting.argument, command))]
        done = self._process(words[1:], b"")
        if done.returncode:
            raise refusal(self.server, commands[0][0], _text(done.stderr).strip())
        return _text(done.stdout).removesuffix("\n")

    def batch(
        self,
        session: str,
        commands: Sequence[Sequence[str]],
        *,
        before: Sequence[Sequence[str]] = (),
        after: Sequence[Sequence[str]] = (),
    ) -> list[str]:
        """Run *commands* through a socket, so that nothing of them shows in `ps`; their replies.

        Each names its target, since tmux may run them before the client is attached. All
        are tried; the first that failed is raised afterwards. Those in *before* and *after* may fail, and
        their replies are left out. Raises as `run` does.
        """
        from posthouse.terminal import control_script  # most commands never need a socket

        script = [*before, *commands, *after]
        replies = control_script.run(self.server, session, script, timeout_seconds=self._timeout_seconds)
        replies = replies[len(before) : len(before) + len(commands)]
        for command, reply in zip(commands, replies, strict=True):
            if reply.failed:
                raise refusal(self.server, command[0], reply.text)
        return [reply.text for reply in replies]

    def socket_path(self) -> str:
        """Where the server listens, so that a later command can ask the same one."""
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
            raise TmuxFrozen(self.server, self._timeout_seconds) from None
        except (FileNotFoundError, PermissionError) as error:
            raise TmuxMissing from error


def program(server: Server) -> list[str]:
    """The start of every tmux command line."""
    return ["tmux", "-u", *server.arguments()]


def attach_command(session: str, *, output: bool) -> list[str]:
    """What a control client runs first.

    It changes neither the size of the agent's window nor the session's environment (`-E`). A reader
    that falls five seconds behind is paused instead of being served from a growing buffer.
    """
    flags = "pause-after=5,ignore-size" if output else "no-output,ignore-size"
    return ["attach-session", "-E", "-t", f"={session}", "-f", flags]


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a tmux process may know: if it has to start the server, every agent inherits this."""
    return {
        name: value
        for name, value in environment.items()
        if name in _INHERITED | _DESKTOP or name.startswith(_INHERITED_PREFIXES)
    }


def search_path() -> str:
    """Where a program that we start looks for others: as we do, and last among our own commands.

    Agents call us by name, wherever we are installed.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = os.path.dirname(sys.executable)  # noqa: PTH120 - on the way of every command, pathlib costs more
    return os.pathsep.join(folders if own in folders else [*folders, own])


def refusal(server: Server, command: str, words: str) -> NoServer | TmuxRefused:
    """The error that tmux's *words* mean."""
    if words.startswith(_NO_SERVER):
        return NoServer(server)
    return TmuxRefused(command, words)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")
