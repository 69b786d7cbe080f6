"""Starts a gateway's process, detached or in a window of the agent's tmux session."""

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

#: Generous for busy machines; a gateway that exits is noticed at once.
_START_SECONDS = 60.0
_POLL_SECONDS = 0.05
#: Part of a log that is read for an error message.
_TAIL_BYTES = 64 << 10
_TAIL_LINES = 5
#: A killed gateway stops answering slightly before its lock is free.
_LOCK_RELEASE_SECONDS = 2.0
#: Environment variables passed to a gateway: no potential secrets, and not the crash point of a test.
_INHERITED = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMUX_TMPDIR", "PYTHONPATH")
)
_INHERITED_PREFIXES = ("LC_", "XDG_", "POSTHOUSE_")


def start(
    session: Session,
    desired: gf.DesiredConfig,
    environment: Mapping[str, str],
    *,
    live: Callable[[], gf.CurrentInstance | None],
) -> gf.CurrentInstance:
    """Start the process and wait until *live* sees it.

    Raises:
        Unavailable: It did not start; the message has the last lines of its log (`attach_failed`).
    """
    root = session.gateway_root
    _require_free(root)
    started = _start_in(desired.desired_execution_mode)(session, _command(root, desired), environment)
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and started.is_running():
        if (instance := live()) is not None:
            started.disown()
            return instance
        time.sleep(_POLL_SECONDS)
    gateway_lock.end(root)
    started.end()
    raise _attach_failed(f"the gateway of {session.agent_name} did not start:\n{_tail(root / gf.LOG)}")


def start_hosted(
    session: Session,
    desired: gf.DesiredConfig,
    environment: Mapping[str, str],
    *,
    live: Callable[[], gf.CurrentInstance | None],
) -> gf.CurrentInstance:
    """Serve it in the host and wait until *live* sees it. Starts the host if needed.

    Raises:
        Unavailable: The gateway does not answer (`attach_failed`), or as `host_client.adopt`.
    """
    runtime_root = session.runtime_root
    if gateway_lock.holder_of(session.gateway_root) != host_client.pid_of(runtime_root):
        _require_free(session.gateway_root)
    entry = gh.HostRegistryEntry(
        gateway_root=str(session.gateway_root),
        host=desired.desired_host or "127.0.0.1",
        port=desired.desired_port,
    )
    host_client.adopt(runtime_root, entry, inherited(environment))
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if (instance := live()) is not None:
            return instance
        time.sleep(_POLL_SECONDS)
    host_client.release(runtime_root, session.gateway_root)
    raise _attach_failed(
        f"the gateway of {session.agent_name} does not answer:\n{_tail(session.gateway_root / gf.LOG)}"
    )


def _require_free(root: Path) -> None:
    """Check that no process serves *root*, and remove the instance record of a dead one."""
    pid = gateway_lock.holder_of(root)
    if pid is not None and not processes.wait_exit(pid, seconds=_LOCK_RELEASE_SECONDS):
        raise _attach_failed(f"gateway process {pid} holds {root} but does not answer; detach it first")
    (root / gf.CURRENT_INSTANCE).unlink(missing_ok=True)


class _Detached:
    """A process in its own session, so that it survives its terminal."""

    def __init__(self, session: Session, command: list[str], environment: Mapping[str, str]) -> None:
        log = session.gateway_root / gf.LOG
        files.private_folder(log.parent)
        variables = {**inherited(environment), names.GATEWAY_EXECUTION_MODE: "detached_process"}
        # The gateway logs here itself; this captures early output and crashes.
        with open(untrusted_files.open_output(log), "ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=variables,
                cwd=session.gateway_root,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        return self._process.poll() is None

    def disown(self) -> None:
        # It outlives us; prevents Python's ResourceWarning.
        self._process.returncode = 0

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class _InWindow:
    """A process in a second window of the agent's session; its index is never 0."""

    def __init__(self, session: Session, command: list[str], environment: Mapping[str, str]) -> None:
        variables = {**inherited(environment), names.GATEWAY_EXECUTION_MODE: "tmux_auxiliary_window"}
        self._tmux = session.tmux
        self._pane: Pane = terminal.new_window(
            self._tmux,
            session.tmux_session_name,
            names.GATEWAY_WINDOW,
            command,
            environment=variables,
            working_directory=session.gateway_root,
        )

    def is_running(self) -> bool:
        return processes.identify(self._pane.pid) is not None

    def disown(self) -> None:
        """Nothing to do: tmux is its parent."""

    def end(self) -> None:
        try:
            terminal.kill_window(self._tmux, self._pane.window_id)
        except PosthouseError:
            return  # it closed by itself


def _start_in(mode: gf.ExecutionMode) -> type[_Detached] | type[_InWindow]:
    return _InWindow if mode == "tmux_auxiliary_window" else _Detached


def _command(root: Path, desired: gf.DesiredConfig) -> list[str]:
    command = [sys.executable, "-m", "posthouse.gateway", "--gateway-root", str(root)]
    return [*command, "--host", desired.desired_host or "127.0.0.1", "--port", str(desired.desired_port or 0)]


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of *environment* that is passed to a gateway."""
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
    return "\n".join(lines) or "its log is empty"


def _attach_failed(message: str) -> Unavailable:
    return Unavailable(message, code="attach_failed")
