"""Starting a gateway's process, detached or in a window of the agent's own tmux session."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import gateway_host as gh
from posthouse.contracts import names
from posthouse.errors import PosthouseError, Unavailable
from posthouse.gateway_lifecycle import gateway_lock, host_client
from posthouse.sessions.session import Session
from posthouse.support import files, processes, untrusted_files
from posthouse.terminal import session as terminal
from posthouse.terminal.pane import Pane

#: A gateway that ends on the way is noticed at once; one that is slow may have a busy machine.
_START_SECONDS = 60.0
_POLL_SECONDS = 0.05
#: Of a log, for a message.
_TAIL_BYTES = 64 << 10
_TAIL_LINES = 5
#: A killed gateway stops answering a moment before its lock is free.
_LAST_MOMENTS_SECONDS = 2.0
#: What a gateway may know of its starter's surroundings: nothing that could be a secret, and not the
#: step at which a test kills its starter.
_INHERITED = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMUX_TMPDIR", "PYTHONPATH")
)
_INHERITED_PREFIXES = ("LC_", "XDG_", "POSTHOUSE_")


class AttachFailed(Unavailable):
    """The gateway did not come up; nothing of it is left running."""

    code = "attach_failed"


def start(
    session: Session,
    wish: gf.DesiredConfig,
    environment: Mapping[str, str],
    *,
    live: Callable[[], gf.CurrentInstance | None],
) -> gf.CurrentInstance:
    """Start the process and wait until *live* sees it.

    Raises:
        AttachFailed: It did not come up; the message has the last lines of its log.
    """
    root = session.gateway_root
    _require_free(root)
    started = _start_in(wish.desired_execution_mode)(session, _command(root, wish), environment)
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and started.is_running():
        if (instance := live()) is not None:
            started.let_go()
            return instance
        time.sleep(_POLL_SECONDS)
    gateway_lock.end(root)
    started.end()
    raise AttachFailed(f"the gateway of {session.agent_name} did not start:\n{_tail(root / gf.LOG)}")


def start_hosted(
    session: Session,
    wish: gf.DesiredConfig,
    environment: Mapping[str, str],
    *,
    live: Callable[[], gf.CurrentInstance | None],
) -> gf.CurrentInstance:
    """Have the host serve it and wait until *live* sees it. A host that died is started again.

    Raises:
        AttachFailed: It serves it, and it does not answer.
        HostFailed, HostSilent, HostRefused: As `calling.adopt`.
    """
    runtime_root = session.runtime_root
    if gateway_lock.holder_of(session.gateway_root) != host_client.pid_of(runtime_root):
        _require_free(session.gateway_root)
    seat = gh.Seat(
        gateway_root=str(session.gateway_root),
        host=wish.desired_host or "127.0.0.1",
        port=wish.desired_port,
    )
    host_client.adopt(runtime_root, seat, inherited(environment))
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if (instance := live()) is not None:
            return instance
        time.sleep(_POLL_SECONDS)
    host_client.release(runtime_root, session.gateway_root)
    raise AttachFailed(
        f"the gateway of {session.agent_name} does not answer:\n{_tail(session.gateway_root / gf.LOG)}"
    )


def _require_free(root: Path) -> None:
    """Return when no process serves *root*; what a dead one said of itself is removed."""
    pid = gateway_lock.holder_of(root)
    if pid is not None and not processes.wait_exit(pid, seconds=_LAST_MOMENTS_SECONDS):
        raise AttachFailed(f"gateway process {pid} holds {root} but does not answer; detach it first")
    (root / gf.CURRENT_INSTANCE).unlink(missing_ok=True)


class _Detached:
    """A process in a session of its own, so that no terminal's end reaches it."""

    def __init__(self, session: Session, command: list[str], environment: Mapping[str, str]) -> None:
        log = session.gateway_root / gf.LOG
        files.private_folder(log.parent)
        surroundings = {**inherited(environment), names.GATEWAY_EXECUTION_MODE: "detached_process"}
        # The gateway writes here itself; this catches what it says before it can, and if it crashes.
        with open(untrusted_files.open_output(log), "ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=surroundings,
                cwd=session.gateway_root,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        return self._process.poll() is None

    def let_go(self) -> None:
        # It outlives us; this keeps Python from warning that nobody waits for it.
        self._process.returncode = 0

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class _InWindow:
    """A process in a window beside the agent's. tmux gives it an index that is never 0."""

    def __init__(self, session: Session, command: list[str], environment: Mapping[str, str]) -> None:
        surroundings = {**inherited(environment), names.GATEWAY_EXECUTION_MODE: "tmux_auxiliary_window"}
        self._tmux = session.tmux
        self._pane: Pane = terminal.new_window(
            self._tmux,
            session.tmux_session_name,
            names.GATEWAY_WINDOW,
            command,
            environment=surroundings,
            working_directory=session.gateway_root,
        )

    def is_running(self) -> bool:
        return processes.identify(self._pane.pid) is not None

    def let_go(self) -> None:
        """tmux is its parent."""

    def end(self) -> None:
        try:
            terminal.kill_window(self._tmux, self._pane.window_id)
        except PosthouseError:
            return  # it closed by itself


def _start_in(mode: gf.ExecutionMode) -> type[_Detached] | type[_InWindow]:
    return _InWindow if mode == "tmux_auxiliary_window" else _Detached


def _command(root: Path, wish: gf.DesiredConfig) -> list[str]:
    command = [sys.executable, "-m", "posthouse.gateway", "--gateway-root", str(root)]
    return [*command, "--host", wish.desired_host or "127.0.0.1", "--port", str(wish.desired_port or 0)]


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """What a gateway may know of *environment*."""
    return {
        name: value
        for name, value in environment.items()
        if name in _INHERITED or (name.startswith(_INHERITED_PREFIXES) and name != names.CRASH_AT)
    }


def _tail(log: Path) -> str:
    """The last lines of *log*, for a message."""
    try:
        _, tail = untrusted_files.read_tail(log, max_bytes=_TAIL_BYTES)
        lines = tail.decode(errors="replace").splitlines()[-_TAIL_LINES:]
    except (FileNotFoundError, untrusted_files.UnsafeFile):
        lines = []
    return "\n".join(lines) or "it said nothing"
